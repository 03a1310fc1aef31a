// Package mcpclient makes servers of the Model Context Protocol sources of a host's tools, on the
// official SDK (github.com/modelcontextprotocol/go-sdk): programs on standard input and output,
// and servers on HTTP. Start with [New].
package mcpclient
