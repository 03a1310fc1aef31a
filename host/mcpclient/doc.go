// Package mcpclient makes servers of the Model Context Protocol sources of a host's tools, on the
// official SDK (github.com/modelcontextprotocol/go-sdk): programs on standard input and output,
// and servers on HTTP. Start with [New].
//
// The files sdk_* stand round the SDK, each for a fact about it that its comments name: all that a server
// sends passes link.receive once, on any transport, before the SDK has what is left of it.
package mcpclient
