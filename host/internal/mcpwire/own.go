package mcpwire

import (
	"slices"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Own is a tool of the host's own by which what a server has besides tools is reached, as its name
// is behind the server's. Its arguments are the parameters of the request; its structured output is
// the result as the server sent it, or an empty object.
type Own string

// The host's own tools. What Read and Subscribe do with a resource is cautious, or dangerous if the
// server has neither listed it nor named it to the session.
const (
	Read      Own = "mcp.read"
	Prompt    Own = "mcp.prompt"
	Complete  Own = "mcp.complete"
	Subscribe Own = "mcp.subscribe"
)

// Owns are all of them.
var Owns = []Own{Complete, Prompt, Read, Subscribe}

// Of returns the tool's name for a server.
func (o Own) Of(server string) string { return server + "." + string(o) }

// Safety returns the tool's level, but for what is dangerous.
func (o Own) Safety() tool.Safety {
	if o == Read || o == Subscribe {
		return tool.Cautious
	}
	return tool.Safe
}

// IsOwn reports whether a server's name for a tool is that of one of the host's own.
func IsOwn(name string) bool { return slices.Contains(Owns, Own(name)) }

// SubscriberKey is the key of the contexts of calls of [Subscribe] whose caller hears of changes, and
// unsubscribes.
type SubscriberKey struct{}
