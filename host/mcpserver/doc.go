// Package mcpserver serves the tools of a host to clients of the Model Context Protocol, on the
// official SDK (github.com/modelcontextprotocol/go-sdk): on standard input and output, or on HTTP.
// Start with [New]. What mounted servers have besides tools, of package mcpclient, it passes on.
//
// The files sdk_* stand round the SDK, each for a fact about it that its comments name.
package mcpserver
