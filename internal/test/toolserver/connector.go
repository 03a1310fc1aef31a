package toolserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Connector reaches the server as far as tests need.
type Connector struct {
	// Program is run for each connection.
	Program plugin.Command
	// Names begin the names of its tools, before a point.
	Names string
}

// New returns a server of that name, which is told what to do. When the test has ended, no
// process of it may be left.
func New(t testing.TB, name string, told ...string) plugin.Server {
	t.Helper()
	c := &Connector{
		Names: name,
		Program: plugin.Command{
			Path: plugintest.Install(t, plugintest.Dir(t), string(Mode)), Args: told,
			Env: []string{
				wire.CookieKey + "=" + wire.CookieValue,
				"GORACE=atexit_sleep_ms=0", // else it takes a second to end, which is too long
			},
		},
	}
	return plugin.Server{
		Name: name, Connector: c, Identity: fmt.Sprint(c.Program.Path, told), Settings: plugin.DefaultSettings(),
	}
}

// Command implements [plugin.Connector].
func (c *Connector) Command() *plugin.Command { return &c.Program }

// Connect implements [plugin.Connector].
func (c *Connector) Connect(ctx context.Context, stdio io.ReadWriteCloser, to plugin.Events) (plugin.Connection, error) {
	out := &connection{names: c.Names + ".", done: make(chan struct{})}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			go func() {
				if out.list(context.Background()) == nil {
					to.Changed()
				}
			}()
		},
	})
	var err error
	if out.session, err = client.Connect(ctx, &mcp.IOTransport{Reader: stdio, Writer: stdio}, nil); err != nil {
		return nil, err
	}
	go func() {
		out.err = out.session.Wait()
		close(out.done)
	}()
	if err := out.list(ctx); err != nil {
		return nil, errors.Join(err, out.session.Close())
	}
	return out, nil
}

type connection struct {
	session *mcp.ClientSession
	names   string
	done    chan struct{}
	err     error // set before done is closed

	mu    sync.Mutex
	tools []tool.Definition
}

// list asks for the tools.
func (c *connection) list(ctx context.Context) error {
	all, err := c.session.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	var tools []tool.Definition
	for _, t := range all.Tools {
		schema, err := json.Marshal(t.InputSchema)
		if err != nil {
			return err
		}
		tools = append(tools, tool.Definition{Name: c.names + t.Name, Description: t.Description, InputSchema: schema, Safety: tool.Safe})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tools = tools
	return nil
}

// Description implements [plugin.Connection].
func (c *connection) Description() plugin.Description {
	c.mu.Lock()
	defer c.mu.Unlock()
	return plugin.Description{Version: "1", Tools: c.tools}
}

// Execute implements [plugin.Connection].
func (c *connection) Execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	res, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: strings.TrimPrefix(call.Name, c.names), Arguments: call.Arguments})
	switch {
	case err != nil && ctx.Err() == nil && !errors.As(err, new(*jsonrpc.Error)):
		return tool.Result{}, tool.Errorf(tool.CodeUnavailable, "%w", err)
	case err != nil:
		return tool.Result{}, err
	}
	var out strings.Builder
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			out.WriteString(text.Text)
		}
	}
	result := tool.Text(out.String())
	result.IsError = res.IsError
	return result, nil
}

// Done implements [plugin.Connection].
func (c *connection) Done() <-chan struct{} { return c.done }

// Err implements [plugin.Connection].
func (c *connection) Err() error { return c.err }

// Close implements [plugin.Connection].
func (c *connection) Close(context.Context) error { return c.session.Close() }

// Ping implements [pluginrun.Pinger].
func (c *connection) Ping(ctx context.Context) error { return c.session.Ping(ctx, nil) }
