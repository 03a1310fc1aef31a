package mcpserver

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/host/task"
)

// Options say how a [Server] serves its clients.
type Options struct {
	// Session gives a client its session, which has the client's grants, approver and visible
	// tools. It is called once for each MCP session, and for clients of the stateless revision
	// of the protocol once for each Identity and program, as long as they keep calling; the
	// server closes the session. Sessions whose approver is [ClientApprover] ask the client
	// itself. An error refuses the client. Required.
	Session func(context.Context, Client) (*host.Session, error)
	// Current returns a client's session with the grants, approver and visible tools that it has
	// now: a view of the one that Session gave ([host.Session.With]). It is called for each
	// request. Call [Server.Refresh] when clients may see other tools than before. Default: nil,
	// what Session gave stays.
	Current func(*host.Session) *host.Session
	// CanonicalNames reports whether a session's tools are listed by their names, such as
	// "fs.read". Default: nil, by their aliases, such as "fs_read", which every model takes.
	// Calls take both.
	CanonicalNames func(*host.Session) bool

	// Upstreams returns the mounted servers, whose prompts, resources and completions clients are
	// offered too, and which learn the level of log lines that clients want. Default: nil, none.
	Upstreams func() []Upstream

	// Tasks keeps the calls of clients that have the extension for tasks
	// (io.modelcontextprotocol/tasks): such a client may get a task in place of a result, for
	// which it comes back. Whoever made the store closes it, after the server. Default: nil, a
	// call is answered with its result, however long it takes.
	Tasks task.Store
	// TaskRule says when calls of a tool become tasks, by the tool's name in the registry. It is
	// called for each call. Default: nil, the zero TaskRule with an After of 10 seconds.
	TaskRule func(tool string) TaskRule

	// Name and Version are what the server says of itself. Default: "toolhost" and "dev".
	Name, Version string
	// Instructions tell a model how to use the server. Default: none.
	Instructions string

	// Started is closed when the plugins of the host have been started once. Until then lists wait for
	// them, at most a second, and so do calls of tools that are not known yet, as long as they may.
	// Default: nil, nothing waits.
	Started <-chan struct{}

	// PageSize is the number of tools on a page of a list. Default: 200.
	PageSize int
	// MaxRequestBytes bounds an HTTP request. Default: 16 MiB. Transports of [Server.Run] have
	// a bound of their own.
	MaxRequestBytes int64
	// MaxOpen bounds the requests of one client that are in progress; more are refused.
	// Default: 256.
	MaxOpen int
	// MaxRate bounds the requests of one Identity on HTTP a second, apart from calls of tools,
	// which have the rates of their caller; five times as many may come at once. More get 429.
	// Default: 100.
	MaxRate int
	// MaxSessions bounds the clients on HTTP. One Identity has at most half of them. If there are as
	// many, the session that was idle for longest of the Identity with most of them ends for another;
	// if none is idle, the other is refused. Default: 1000.
	MaxSessions int
	// Hold reserves memory for a large result of a caller until it is released, when the client has
	// read it or is gone. An error loses the result: the client is told so. Default: nil, results have no
	// bound together.
	Hold func(caller string, bytes int) (release func(), err error)
	// IdleTimeout is how long a client on HTTP may be silent before its session ends.
	// Default: 1 hour.
	IdleTimeout time.Duration
	// QuestionTimeout is how long a client has to answer a question. Default: 5 minutes.
	QuestionTimeout time.Duration
	// MaxQuestions bounds the calls of a client that wait for an answer; more are refused.
	// Default: 16.
	MaxQuestions int
	// Logger keeps what goes wrong. Default: nothing is kept.
	Logger *slog.Logger
}

func (o *Options) setDefaults() {
	o.Name = cmp.Or(o.Name, "toolhost")
	o.Version = cmp.Or(o.Version, "dev")
	o.PageSize = cmp.Or(max(o.PageSize, 0), 200)
	o.MaxRequestBytes = cmp.Or(max(o.MaxRequestBytes, 0), 16<<20)
	o.MaxOpen = cmp.Or(max(o.MaxOpen, 0), 256)
	o.MaxRate = cmp.Or(max(o.MaxRate, 0), 100)
	o.MaxSessions = cmp.Or(max(o.MaxSessions, 0), 1000)
	o.IdleTimeout = cmp.Or(max(o.IdleTimeout, 0), time.Hour)
	o.QuestionTimeout = cmp.Or(max(o.QuestionTimeout, 0), 5*time.Minute)
	o.MaxQuestions = cmp.Or(max(o.MaxQuestions, 0), 16)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// Upstream is a mounted MCP server, of package mcpclient.
type Upstream = mcpwire.Mounted
