package plugin

import (
	"context"
	"io"
	"log/slog"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Connector reaches something that serves tools and is not a plugin of this project's
// protocol, such as an MCP server.
type Connector interface {
	// Command is the program of which each connection runs a process; nil: none is run, and
	// Connect reaches the server in another way.
	Command() *Command
	// Connect returns when the server has described itself. Stdio is the standard input and
	// output of the process; nil without a program. Connect must return soon after ctx ends;
	// the connection outlives ctx.
	Connect(ctx context.Context, stdio io.ReadWriteCloser, to Events) (Connection, error)
}

// Command is a program and its surroundings. What is not said is as for a plugin.
type Command struct {
	// Path is the program: a path, or a name to look for in PATH.
	Path string
	Args []string
	// Dir is the working directory. Default: the workspace.
	Dir string
	// Env are variables, NAME=value, in addition to those that plugins have.
	Env []string
}

// Connection is one connection that a [Connector] made. Its methods are safe for concurrent
// use.
type Connection interface {
	// Description is what the server said of itself last.
	Description() Description
	// Execute runs one call. An error with the code [tool.CodeUnavailable] or
	// [tool.CodeCrashed] says that the connection is gone, of a program's: the host waits for
	// Done then, and for how the process has ended.
	Execute(context.Context, tool.Call) (tool.Result, error)
	// Done is closed when the connection is lost, and Err says why then.
	Done() <-chan struct{}
	Err() error
	// Close ends the connection; without a program, also what the server keeps for it.
	Close(context.Context) error
}

// Description is what a server says of itself.
type Description struct {
	Version string            // its own
	SDK     string            // what it was made with, or speaks, such as mcp/2025-11-25
	Tools   []tool.Definition // by the names under which the host registers them
	// KeepsSessions says that it keeps state for each session.
	KeepsSessions bool
}

// Events is what a [Connection] reports. The functions return at once.
type Events struct {
	// SDK is what Description had as that last, maybe in another process; empty: it is not known.
	SDK string
	// Changed says that Description has changed.
	Changed func()
	// Renew ends the connection when its calls have ended, as it cannot do what another can: the next call makes one.
	// It is told what SDK is from now on, also in later processes.
	Renew func(sdk string)
	// Offers says what the server has besides tools, as "prompt NAME", "resource URI" and "template
	// URI", sorted. Nil: no one wants to know.
	Offers func([]string)
	// Log keeps a line of the server's log.
	Log func(slog.Level, string)
	// Fault keeps what was wrong with an answer.
	Fault func(error)
}
