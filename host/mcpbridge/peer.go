package mcpbridge

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// peer is the MCP client whose request a context belongs to, as an upstream server sees it:
// what the upstream asks during the request is asked of the peer. Each method returns when the
// client has answered, or ctx has ended, whatever revision of the protocol the client speaks.
//
// # Errors
//
// An error with the code [tool.CodeUnsupported] if the client does not declare the capability.
type peer interface {
	// id identifies the caller's session: questions go to one session only.
	id() string
	// capabilities are what the client declares that it can answer; nil: nothing.
	capabilities() *mcp.ClientCapabilities
	elicit(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error)
	createMessage(context.Context, *mcp.CreateMessageWithToolsParams) (*mcp.CreateMessageWithToolsResult, error)
	listRoots(context.Context) (*mcp.ListRootsResult, error)
	// log sends a log line of an upstream, if the client asked for its level.
	log(context.Context, *mcp.LoggingMessageParams)
}

type peerKey struct{}

// peerFrom returns the client whose request a context belongs to; nil: it is not an MCP client's.
func peerFrom(ctx context.Context) peer {
	p, _ := ctx.Value(peerKey{}).(peer)
	return p
}
