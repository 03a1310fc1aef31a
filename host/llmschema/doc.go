// Package llmschema exports tools in the formats of their callers: the requests
// of model providers and the tool list of an MCP server. Start with [Export].
// [Alias] makes names that models accept; the host's registry stores them,
// because a name is found from its alias by look-up, not by a rule.
//
// A provider answers a request with one tool that it does not accept with an
// error, so that no tool can be called. Each format therefore has rules
// (rules.go, with their sources). A schema is rewritten if its meaning stays: an
// older draft becomes 2020-12, schemas that are combined at the root are merged,
// properties get names that are accepted, arrays get items. If something cannot
// be said to a provider, it is left out of the schema, and [Note.Lost] says
// what; the host checks the arguments by the tool's own schema. If nothing else
// helps, the tool is left out. Everything else is exported unchanged.
package llmschema
