package mcpwire

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Peer is the MCP client whose request a context belongs to, as a mounted server sees it: what
// that asks during the request is asked of the peer. Each method returns when the client has
// answered, or ctx has ended, whatever revision of the protocol the client speaks.
//
// # Errors
//
// An error with the code [tool.CodeUnsupported] if the client does not declare the capability.
type Peer interface {
	// ID identifies the caller's session: questions go to one session only.
	ID() string
	// Capabilities are what the client declares that it can answer; nil: nothing.
	Capabilities() *mcp.ClientCapabilities
	Elicit(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error)
	CreateMessage(context.Context, *mcp.CreateMessageWithToolsParams) (*mcp.CreateMessageWithToolsResult, error)
	ListRoots(context.Context) (*mcp.ListRootsResult, error)
	// Log sends a log line of a mounted server, if the client asked for its level.
	Log(context.Context, *mcp.LoggingMessageParams)
}

// PeerKey is the key of the [Peer] in a context.
type PeerKey struct{}

// PeerFrom returns the client whose request a context belongs to; nil: it is not an MCP client's.
func PeerFrom(ctx context.Context) Peer {
	p, _ := ctx.Value(PeerKey{}).(Peer)
	return p
}
