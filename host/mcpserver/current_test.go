package mcpserver_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What a client may do follows what its session is now, and the client is told.
func TestCurrent(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, w way) {
		h := newHost(t)
		guarded := echo("a.guarded", func(d *tool.Definition) { d.Permission = "fs:read" })
		for _, one := range []tool.Tool{echo("a.open"), guarded} {
			require.NoError(t, h.Register(one))
		}
		var granted atomic.Bool
		s := serve(t, h, mcpserver.Options{Current: func(given *host.Session) *host.Session {
			if !granted.Load() {
				return given
			}
			return given.With(host.WithGrants("fs:read"))
		}})
		told := make(chan struct{}, 10)
		c := w.connect(t, s, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told <- struct{}{} }})
		assert.EqualSlicesf(t, names(t, c), []string{"a_open"}, "before, the client sees")
		granted.Store(true)
		s.Refresh()
		if w.version < "2026" { // since then, clients have to ask for it, and keep the list for a while
			select {
			case <-told:
			case <-time.After(ceiling):
				t.Error("the client was not told")
			}
			assert.EqualSlicesf(t, names(t, c), []string{"a_guarded", "a_open"}, "after, the client sees")
		}
		if r := call(t, c, "a_guarded", `{"text":"x"}`); r.IsError {
			t.Errorf("the call is refused: %s", text(r))
		}
	})
}
