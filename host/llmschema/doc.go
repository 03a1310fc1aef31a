// Package llmschema puts tools into the words of those who are to call them: the
// requests of model providers and the listing of an MCP server. Begin with
// [Export]. The names that models accept are made by [Alias]; the registry of a
// host keeps them, because the way back is a look-up and never a rule.
//
// Schemas and descriptions are handed over as they are. A provider that knows
// less of JSON Schema than a tool uses refuses the tool in its own words, which
// is better than a tool whose arguments mean something else than its author
// wrote. The few changes that are made mean the same in JSON Schema; each is told
// at the format that needs it.
package llmschema
