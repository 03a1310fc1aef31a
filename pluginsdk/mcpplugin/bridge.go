package mcpplugin

import (
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// revision is the one in which a server asks in requests of its own.
const revision = "2025-11-25"

// maxIdle bounds the MCP sessions that no call uses. The one that was used last is kept longest.
const maxIdle = 256

// bridge is an MCP server and its clients, which are of this process.
type bridge struct {
	server   *mcp.Server
	complete []func(*tool.Definition)
	set      *tool.Set
	prefix   string // of tokens, that no other client can guess
	last     atomic.Uint64

	mu      sync.Mutex
	clients map[string]*client  // by the host's session
	open    map[string]*request // by token

	updating sync.Mutex
	names    map[string]string // the server's names of tools, by those that are served
}

// client is an MCP session of the server, for one session of the host.
type client struct {
	session *mcp.ClientSession
	open    int // calls
	used    time.Time
}

func newBridge(server *mcp.Server, complete []func(*tool.Definition)) *bridge {
	b := &bridge{
		server: server, complete: complete, set: new(tool.Set), prefix: rand.Text() + "-",
		clients: map[string]*client{}, open: map[string]*request{}, names: map[string]string{},
	}
	server.AddReceivingMiddleware(b.receiving)
	server.AddSendingMiddleware(sending)
	return b
}

// session returns the MCP session of a session of the host, which the caller leaves.
func (b *bridge) session(ctx context.Context, id string) (*client, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.clients[id]
	if c == nil {
		s, err := b.connect(ctx, id == "")
		if err != nil {
			return nil, err
		}
		c = &client{session: s}
		b.clients[id] = c
	}
	c.open++
	return c, nil
}

// leave says that a call needs its session no more.
func (b *bridge) leave(c *client) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c.open--
	c.used = time.Now()
	var idle []string
	for id, other := range b.clients {
		if other.open == 0 {
			idle = append(idle, id)
		}
	}
	if len(idle) <= maxIdle {
		return
	}
	oldest := slices.MinFunc(idle, func(x, y string) int { return b.clients[x].used.Compare(b.clients[y].used) })
	gone := b.clients[oldest]
	delete(b.clients, oldest)
	go func() { _ = gone.session.Close() }()
}

// connect makes an MCP session. The first one follows the server's list of tools.
func (b *bridge) connect(ctx context.Context, first bool) (*mcp.ClientSession, error) {
	here, there := mcp.NewInMemoryTransports()
	if _, err := b.server.Connect(context.WithoutCancel(ctx), there, nil); err != nil {
		return nil, err
	}
	o := &mcp.ClientOptions{
		Capabilities:          &mcp.ClientCapabilities{},
		ElicitationHandler:    unknownCall,
		LoggingMessageHandler: logged,
	}
	if first {
		o.ToolListChangedHandler = func(ctx context.Context, _ *mcp.ToolListChangedRequest) {
			if err := b.update(context.WithoutCancel(ctx)); err != nil {
				slog.Error("the list of tools has changed, and cannot be served as it is", "error", err)
			}
		}
	}
	s, err := mcp.NewClient(&mcp.Implementation{Name: "toolhost"}, o).
		Connect(context.WithoutCancel(ctx), here, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		return nil, err
	}
	if s.InitializeResult().Capabilities.Logging != nil {
		_ = s.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "debug"}) // the host's log has levels
	}
	return s, nil
}

// begin adds a request, whose result is taken from the server as it is.
func (b *bridge) begin(ctx context.Context) *request {
	r := &request{host: ctx, token: b.prefix + strconv.FormatUint(b.last.Add(1), 10), ended: make(chan outcome, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[r.token] = r
	return r
}

func (b *bridge) end(r *request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, r.token)
}

func (b *bridge) requestOf(token string) *request {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open[token]
}
