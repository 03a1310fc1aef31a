package mcpwire

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Source is what a mounted server has besides tools, as far as it is told without a call: what is
// read, got, completed and subscribed to is by calls of the host's [Own] tools.
//
// # Errors
//
// The server's own, a *jsonrpc.Error of the SDK; [tool.CodeUnavailable] if it cannot be reached or
// started; the context's end.
type Source interface {
	// Capabilities are what the server said last that it has; nil: it was not connected yet.
	Capabilities() *mcp.ServerCapabilities
	// List lists what the server has of a kind; none if it has none.
	List(context.Context, Kind) ([]Item, error)
	// Named reports whether the server has named a resource in an answer to a session, or as the page
	// in which a tool is shown.
	Named(session, uri string) bool
	// Unsubscribe takes back a subscription that a call of [Subscribe] made.
	Unsubscribe(ctx context.Context, uri string) error
	// SetLevel sets from which level on the server sends its log, across connections. Clients
	// share it: the lowest that one of them asked for. Empty: as the server does by itself.
	SetLevel(context.Context, mcp.LoggingLevel) error
	// OfferRoots says which roots the server is told where no caller's count; nil: the workspace.
	OfferRoots([]*mcp.Root)
	// Notify has the notices given from now on, across connections, until stop is called.
	Notify(Notices) (stop func())
}

// Kind is a kind of what servers list besides tools: the member of a page that has them.
type Kind string

// The kinds.
const (
	Prompts   Kind = "prompts"
	Resources Kind = "resources"
	Templates Kind = "resourceTemplates"
)

// One is one of them, as [plugin.Events] and [plugin.LostName] have it.
func (k Kind) One() string {
	switch k {
	case Prompts:
		return "prompt"
	case Resources:
		return "resource"
	}
	return "template"
}

// Item is something that a server lists, as the server sent it, less what is reserved, and its
// key, by which clients ask for it.
type Item struct {
	Key string
	Raw json.RawMessage
}

// Notices is what a [Source] tells. The functions return at once.
type Notices struct {
	PromptsChanged   func()
	ResourcesChanged func() // the templates too
	// ResourceUpdated says that a resource changed that is subscribed to.
	ResourceUpdated func(uri string)
}

// Mounted is a mounted server: what embeds a [Handle], so that its source is for this host only.
type Mounted interface {
	// Name is the server's name here.
	Name() string
	source() Source
}

// Handle makes what embeds it a [Mounted].
type Handle struct{ of Source }

var _ interface{ source() Source } = Handle{}

// HandleOf returns the handle of a source.
func HandleOf(s Source) Handle { return Handle{s} }

func (h Handle) source() Source { return h.of }

// SourceOf returns what a mounted server has besides tools.
func SourceOf(m Mounted) Source { return m.source() }
