// Package mcpline reads and writes the messages of MCP, a line each, decoding each once. Start with
// [New].
package mcpline
