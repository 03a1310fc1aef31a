package pluginrun

import (
	"context"
	"errors"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Own is a [plugin.Connector] with tools of the host's own, by which what a server has besides tools is
// reached. Operators see them, and models do not.
type Own interface {
	// IsOwn reports whether a tool is one of them, by the name that the Connection gives it.
	IsOwn(tool string) bool
	// IsDangerous reports whether a call of one of them can do more harm than its definition says.
	IsDangerous(context.Context, tool.Call) bool
}

// ErrAgain is the cause of an error of [plugin.Connector.Connect] that says that the next try may
// succeed, as the Connector has learned from this one: Connect is called once more at once, with another process.
var ErrAgain = errors.New("worth another try")

// Pinger is a [plugin.Connection] that can ask the server for a sign of life. It is asked only when a
// call was not answered in time: a server that answers neither is ended.
type Pinger interface {
	// Ping returns nil, or any error that says that the server answers; or, when ctx has
	// ended, that it does not.
	Ping(ctx context.Context) error
}
