// Package mcpbridge connects a host to the Model Context Protocol, on the official SDK
// (github.com/modelcontextprotocol/go-sdk). [Server] serves the tools of a host to MCP
// clients; start with [NewServer]. [Upstream] makes an MCP server a source of a host's tools;
// start with [NewUpstream].
package mcpbridge
