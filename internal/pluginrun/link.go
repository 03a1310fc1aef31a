package pluginrun

import (
	"context"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// link is how the host reaches a run: by this project's protocol, or as a [plugin.Connector] does.
type link interface {
	// connect starts the run, and returns what it says of itself when it can take calls.
	connect(context.Context) (wire.Description, error)
	// describe asks the run again what it has to say of itself.
	describe(context.Context) (wire.Description, error)
	// execute and preview return an error with [wire.ErrDisconnected] as a cause if the
	// connection is gone.
	execute(context.Context, tool.Call) (tool.Result, error)
	preview(context.Context, tool.Call) (tool.Result, error)
	carrier() plugin.Carrier
	// check asks the run how it is, for at most [internalTimeout].
	check() (serving, answered bool)
	// endSession tells the run that no call of a session comes any more, if it wants to know.
	endSession(session string)
	// problem asks the run why it cannot work, until ctx ends; empty: it can, or does not say.
	problem(ctx context.Context) string
	// saysProblems reports whether it is worth asking.
	saysProblems() bool
	// isPrivate reports whether nothing but the host can ask the run to end.
	isPrivate() bool
	// shutdown asks the run to end, and waits for a moment until it has.
	shutdown(context.Context)
	// release gives back what a run that has ended, or never began, still holds.
	release()
}
