// Package llmschema exports tools in the formats of their callers: the requests
// of model providers and the tool list of an MCP server. Start with [Export].
// [Alias] makes names that models accept; the host's registry stores them,
// because a name is found from its alias by look-up, not by a rule.
//
// Schemas and descriptions are exported unchanged. A provider that supports
// less of JSON Schema than a tool uses rejects the tool with its own error.
// That is better than a schema that no longer means what the tool's author
// wrote. The few changes that are made preserve the meaning; each is documented
// at the format that needs it.
package llmschema
