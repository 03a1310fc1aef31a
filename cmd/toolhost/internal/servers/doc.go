// Package servers finds the MCP servers that an operator names: those under mcp_servers in
// the configuration, and those in files of other MCP clients. Begin with [Collect].
package servers
