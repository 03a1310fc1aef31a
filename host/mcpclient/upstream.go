package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/ident"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The transports of an [Config].
const (
	transportStdio = "stdio" // a program's standard input and output
	transportHTTP  = "http"  // streamable HTTP
	transportSSE   = "sse"   // HTTP with server-sent events, the transport before 2025-03-26
)

// Config says what MCP server an [Upstream] connects to: a program or a URL.
type Config struct {
	// Name is the server's name here: letters, digits, _ and -, at most 64. Its tools are
	// registered as NAME.TOOL. Required.
	Name string

	// Command is the program of a server on stdio: a path, or a name to look for in PATH.
	Command string
	Args    []string
	// Env are variables, NAME=value, in addition to those that plugins have.
	Env []string
	// Dir is the program's working directory. Default: the workspace.
	Dir string

	// URL is the address of a server that runs elsewhere. Redirects are followed within its
	// host. The only proxy is that of the environment (HTTPS_PROXY, NO_PROXY).
	URL string
	// Transport is "stdio", "http" (streamable HTTP) or "sse" (HTTP with server-sent events, the transport before
	// 2025-03-26). Default: "stdio" with a Command, "http" with a URL.
	Transport string
	// Headers are sent with each request to URL, and to no other host.
	Headers http.Header
	// Plaintext allows an http URL of another machine, by which tokens, headers and calls
	// travel unencrypted. Default: only those of this machine.
	Plaintext bool
	// OAuth says how the host authorizes itself to URL, if the server asks for it.
	OAuth OAuth

	// Version is the revision of the protocol to begin with, such as "2025-11-25". Default:
	// the newest; servers that do not know it are asked for what they do know.
	Version string

	// Root is the workspace, an absolute path. When the server asks for roots outside of calls, or for a caller that has
	// none, it is told those in the workspace of the only client that has any. Default: none.
	Root string

	// Include and Exclude choose among the server's tools by the names that the server gives
	// them: patterns as of [path.Match], of which * and ? match a / too. Default: all.
	Include, Exclude []string
	// Questions are the kinds of questions that the server may ask during a call.
	Questions Questions
	// Safety returns the level that the operator accepted for a tool, by the name that the
	// server gives it; [tool.Unset]: none was, and the tool counts as dangerous and as not
	// idempotent. Nil: none was for any. What the server says of itself decides nothing.
	Safety func(toolName string) tool.Safety
}

// Questions says which kinds of questions a server may ask of whoever makes a call. The zero value
// lets it ask persons, and for roots.
type Questions struct {
	NoElicitation bool // questions to the person are refused
	Sampling      bool // it may use the model of the client that makes the call
	NoRoots       bool // it is told no roots
}

// allows reports whether a kind may be asked.
func (q Questions) allows(k questionKind) bool {
	return k == askElicitation && !q.NoElicitation || k == askSampling && q.Sampling || k == askRoots && !q.NoRoots
}

// Upstream is an MCP server as a source of tools: a [plugin.Connector]. What else the server
// has, its prompts and resources, is for the clients of an mcpserver.Server only. Its methods are
// safe for concurrent use. Make it with [New].
type Upstream struct {
	handle
	config   Config
	tokens   *tokenStore // nil: it has no use for them
	most     int         // bytes of a list
	legacy   atomic.Bool // the server went away when it was asked for the newest revision
	sessions atomic.Bool // it speaks the newest revision, and asks as only sessions let it

	unmatched atomic.Pointer[unmatched] // nil: each pattern chooses something, or nothing was listed

	kept  map[mcpwire.Kind]*itemList
	named named

	mu       sync.Mutex
	start    func(context.Context) error
	link     *link // the connection; nil: there is none
	about    *mcp.InitializeResult
	notices  map[*mcpwire.Notices]struct{}
	offered  []*mcp.Root    // of the only client, in the workspace; nil: the workspace itself
	followed map[string]int // URIs of resources, and how many subscriptions each has
	level    mcp.LoggingLevel
}

// handle keeps the methods of [source] from those who mount a server.
type handle = mcpwire.Handle

var _ plugin.Connector = (*Upstream)(nil)

// New returns the server that the configuration describes. It starts and connects to
// nothing.
//
// # Errors
//
// Plain ones, which name the server, for a configuration that cannot work.
func New(config Config) (*Upstream, error) {
	bad := func(format string, args ...any) (*Upstream, error) {
		return nil, fmt.Errorf("MCP server %q: "+format, append([]any{config.Name}, args...)...)
	}
	if config.Transport == "" {
		config.Transport = transportHTTP
		if config.Command != "" {
			config.Transport = transportStdio
		}
	}
	switch {
	case !ident.Spells(config.Name, 64, "_-"):
		return bad("the name must have 1 to 64 letters, digits, _ and -")
	case config.Command == "" && config.URL == "":
		return bad("neither a command nor a URL: give one of them")
	case config.Command != "" && config.URL != "":
		return bad("both a command and a URL: leave one of them out")
	case !slices.Contains([]string{transportStdio, transportHTTP, transportSSE}, config.Transport):
		return bad("unknown transport %q: use stdio, http or sse", config.Transport)
	case (config.Transport == transportStdio) != (config.Command != ""):
		return bad("the transport %q does not fit: stdio needs a command, http and sse a URL", config.Transport)
	}
	for _, pattern := range slices.Concat(config.Include, config.Exclude) {
		if _, err := path.Match(pattern, ""); err != nil {
			return bad("the pattern %q of tool names cannot be read: %v", pattern, err)
		}
	}
	u := &Upstream{
		config: config, most: maxListBytes, notices: map[*mcpwire.Notices]struct{}{}, followed: map[string]int{},
		kept: map[mcpwire.Kind]*itemList{},
	}
	for of := range kinds {
		u.kept[of] = &itemList{}
	}
	u.handle = mcpwire.HandleOf(source{u})
	if config.URL != "" {
		if err := checkURL(config.URL, config.Plaintext); err != nil {
			return bad("%v", err)
		}
		if config.Headers.Get("Authorization") == "" {
			u.tokens = newTokenStore(config)
		}
	}
	return u, nil
}

// StartWith sets what starts the server when a request needs a connection and there is none:
// Host.StartPlugin, for the name under which the server is mounted.
func (u *Upstream) StartWith(start func(context.Context) error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.start = start
}

// Name is the server's name here.
func (u *Upstream) Name() string { return u.config.Name }

// Command implements [plugin.Connector].
func (u *Upstream) Command() *plugin.Command {
	if u.config.Command == "" {
		return nil
	}
	return &plugin.Command{Path: u.config.Command, Args: u.config.Args, Dir: u.config.Dir, Env: u.config.Env}
}

// Connect implements [plugin.Connector]. It returns when the server's tools are listed.
//
// # Errors
//
// [tool.CodeUnavailable] if the server cannot be reached, does not speak the protocol, or wants
// an authorization that the host does not have.
func (u *Upstream) Connect(ctx context.Context, stdio io.ReadWriteCloser, to plugin.Events) (plugin.Connection, error) {
	var handler auth.OAuthHandler
	if u.tokens != nil {
		handler = &authorizer{u.tokens}
	}
	l, err := u.connectWith(ctx, stdio, to, handler)
	if err != nil {
		if stdio != nil {
			_ = stdio.Close()
		}
		return nil, u.unavailable(err)
	}
	u.take(l)
	return l, nil
}

func (u *Upstream) unavailable(err error) *tool.Error {
	if already, ok := errors.AsType[*tool.Error](err); ok {
		return already
	}
	return tool.Errorf(tool.CodeUnavailable, "the MCP server %s does not answer as one: %w", u.config.Name, err).
		Of("", u.config.Name).At(callstage.Start).Try("try again later").
		Fix("see its log, and that the command or URL is that of an MCP server")
}

// take makes l the connection that requests of served clients use.
func (u *Upstream) take(l *link) {
	u.mu.Lock()
	u.link, u.about = l, l.session.InitializeResult()
	followed, level := slices.Collect(maps.Keys(u.followed)), u.level
	u.mu.Unlock()
	go func() { // until the connection ends, or the server has what the one before had
		ctx, stop := context.WithTimeout(l.life, requestTime)
		defer stop()
		if level != "" {
			_ = l.setLevel(ctx, level)
		}
		for _, uri := range followed {
			if err := l.follow(ctx, uri); err != nil {
				l.fault(fmt.Errorf("the resource %.200q is not followed again: %w", uri, err))
			}
		}
	}()
}

// lose forgets l.
func (u *Upstream) lose(l *link) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.link == l {
		u.link = nil
	}
}

// Bounds of an upstream. They are far above the needs of an honest server.
const (
	maxTools      = 10_000           // tools, prompts, resources or templates of a server
	maxListBytes  = 16 << 20         // bytes of a list, all pages together
	maxPages      = 1_000            // pages of a list
	maxOpen       = 1_024            // open calls on a connection
	maxQuestions  = 16               // questions of a server that wait for an answer
	maxOffers     = 1_000            // prompts, resources or templates that are reported
	maxOffer      = 512              // bytes of one
	maxPinned     = 32 << 10         // bytes of what it lists, to be in a definition as text
	othersTime    = 10 * time.Second // for what a server lists besides tools, when it is connected to
	maxRounds     = 10               // of questions in one call, as in the SDK
	questionTime  = 10 * time.Minute // for one answer
	requestTime   = time.Minute      // for a request that is not a call
	discoverTime  = 10 * time.Second // for the answer to whether the server speaks the newest revision
	relistEvery   = time.Second      // between two lists of the tools
	messagesBurst = 2_000            // of notifications and requests of a server
	messagesRate  = 1_000            // a second
	requestCost   = 20               // messages that one request counts as
)
