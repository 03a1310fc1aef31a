package pluginrun_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// remote is a server in this process, without a program, whose time may be a bubble's.
type remote struct {
	lose      chan error    // ends its connection
	refuses   *atomic.Int32 // how many connections it refuses; nil: none
	silent    *atomic.Bool  // answers neither calls nor pings; nil: it does
	described *atomic.Int32 // how often it was asked for its tools, which change each time; nil: they do not
	changed   chan func()   // gets what says so; nil: nothing
}

func newRemote() remote { return remote{lose: make(chan error), silent: &atomic.Bool{}} }

func (remote) Command() *plugin.Command { return nil }

func (r remote) Connect(_ context.Context, _ io.ReadWriteCloser, to plugin.Events) (plugin.Connection, error) {
	if r.refuses != nil && r.refuses.Add(-1) >= 0 {
		return nil, fmt.Errorf("%w: it speaks an older revision", pluginrun.ErrAgain)
	}
	if r.changed != nil {
		r.changed <- to.Changed
	}
	c := &remoteConnection{remote: r, done: make(chan struct{}), closed: make(chan struct{})}
	go func() {
		select {
		case c.err = <-r.lose:
		case <-c.closed:
		}
		close(c.done)
	}()
	return c, nil
}

type remoteConnection struct {
	remote

	done, closed chan struct{}
	err          error
}

func (c *remoteConnection) Description() plugin.Description {
	now := tool.Definition{Name: "r.now"}
	if c.described != nil {
		now.Description = fmt.Sprintf("Was described %d times.", c.described.Add(1))
	}
	return plugin.Description{Tools: []tool.Definition{{Name: "r.wait"}, now}}
}

func (c *remoteConnection) Execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	if call.Name != "r.wait" && (c.silent == nil || !c.silent.Load()) {
		return tool.Text("done"), nil
	}
	select {
	case <-c.done:
		return tool.Result{}, errors.New("EOF")
	case <-ctx.Done():
		return tool.Result{}, ctx.Err()
	}
}

func (c *remoteConnection) Ping(ctx context.Context) error {
	if c.silent == nil || !c.silent.Load() {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (c *remoteConnection) Done() <-chan struct{}       { return c.done }
func (c *remoteConnection) Err() error                  { return c.err }
func (c *remoteConnection) Close(context.Context) error { close(c.closed); return nil }

// reach is a provider of a server, closed with the test.
func reach(t *testing.T, s plugin.Server, change ...func(*pluginrun.Config)) *pluginrun.Plugin {
	t.Helper()
	cfg := pluginrun.Config{
		Root: t.TempDir(), Logger: hclog.NewNullLogger(), Settings: plugin.Settings{StartTimeout: ceiling},
	}
	for _, f := range change {
		f(&cfg)
	}
	p := pluginrun.NewServer(s, cfg)
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return p
}

// inBubble runs a test with a server in a bubble.
func inBubble(t *testing.T, test func(t *testing.T, r remote, reached func(...func(*pluginrun.Config)) *pluginrun.Plugin)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRemote()
		test(t, r, func(change ...func(*pluginrun.Config)) *pluginrun.Plugin {
			return reach(t, plugin.Server{Name: "r", Connector: r, Identity: "here"}, change...)
		})
	})
}

// after lets time pass, and all that it leads to.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// state fails the test for another state, or a reason that lacks a text.
func state(t *testing.T, p *pluginrun.Plugin, want plugin.State, why string) {
	t.Helper()
	if s := p.Status(); s.State != want || !strings.Contains(s.Reason, why) {
		t.Errorf("it is %s, %q; want %s, %q", s.State, s.Reason, want, why)
	}
}

// A server without a program is connected again after its connection was lost, and is closed
// when it is not wanted any more.
func TestRemoteServer(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, r remote, reached func(...func(*pluginrun.Config)) *pluginrun.Plugin) {
		p := reached()
		call(t, p, "r.now", "{}")
		if s := p.Status(); s.State != plugin.Ready || s.PID != 0 || s.Carrier != pluginrun.Remote {
			t.Errorf("the status is %+v", s)
		}
		failed := make(chan error, 1)
		go func() {
			_, err := p.Execute(t.Context(), tool.Call{Name: "r.wait"})
			failed <- err
		}()
		synctest.Wait()
		if s := p.Status(); s.Calls != 1 {
			t.Errorf("the status is %+v", s)
		}
		r.lose <- errors.New("reset by peer")
		if err := <-failed; tool.CodeOf(err) != tool.CodeCrashed ||
			!strings.Contains(err.Error(), "r.wait: the connection was lost: reset by peer") {
			t.Errorf("got %v", err)
		}
		call(t, p, "r.now", "{}")
		if s := p.Status(); s.Starts != 2 || s.Crashes != 1 {
			t.Errorf("the status is %+v", s)
		}
		if err := p.Restart(t.Context()); err != nil || p.Status().State != plugin.Idle {
			t.Errorf("restarted: %v, %+v", err, p.Status())
		}
	})
}

// A Connector that has learned from a failure is asked once more, at once.
func TestServerIsReachedAgain(t *testing.T) {
	t.Parallel()
	for refuses, starts := range map[int32]bool{1: true, 2: false} {
		synctest.Test(t, func(t *testing.T) {
			r := newRemote()
			r.refuses = &atomic.Int32{}
			r.refuses.Store(refuses)
			p := reach(t, plugin.Server{Name: "r", Connector: r, Identity: "here"})
			if err := p.Ready(t.Context()); (err == nil) != starts || p.Status().Starts != 1 {
				t.Errorf("after %d refusals: %v, %+v", refuses, err, p.Status())
			}
		})
	}
}
