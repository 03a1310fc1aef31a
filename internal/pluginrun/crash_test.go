package pluginrun_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func pid(t *testing.T, p *pluginrun.Plugin) int {
	t.Helper()
	return number(t, p, "crash.pid")
}

// number returns what a tool without arguments answers.
func number(t *testing.T, p *pluginrun.Plugin, name string) (n int) {
	t.Helper()
	require.NoError(t, json.Unmarshal(call(t, p, name, "{}").Structured, &n))
	return n
}

// checkCrash checks an error that a call in a dying process has to end with.
func checkCrash(t *testing.T, err error, exit plugin.ExitError, lastWords string) {
	t.Helper()
	var e *tool.Error
	var status *plugin.ExitError
	switch {
	case !errors.As(err, &e) || !errors.As(err, &status):
		t.Fatalf("got %v, want a *tool.Error with a *plugin.ExitError", err)
	case e.Code != tool.CodeCrashed || e.Plugin != "crasher" || e.Unsent:
		t.Errorf("got %+v", e)
	case *status != exit:
		t.Errorf("ended with %v, want %v", status, &exit)
	case !strings.Contains(e.Message, "plugin crasher crashed while it ran") || !strings.Contains(e.Message, exit.Error()):
		t.Errorf("message %q", e.Message)
	case !strings.Contains(e.Detail, lastWords):
		t.Errorf("detail %q lacks %q", e.Detail, lastWords)
	case strings.ContainsRune(e.Detail, '\x1b'):
		t.Errorf("detail %q has control characters", e.Detail)
	}
}

func TestCrash(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, tool, args string
		exit             plugin.ExitError
		lastWords        string
	}{
		{"panic", "crash.panic", "{}", plugin.ExitError{Code: 2}, "goroutine"},
		{"exit", "crash.exit", `{"code":7}`, plugin.ExitError{Code: 7}, `leaving on purpose\x1b[2J`},
		{"exit 0", "crash.exit", `{"code":0}`, plugin.ExitError{}, "leaving on purpose"},
	} {
		onCarriers(t, c.name, func(t *testing.T, carrier func(*pluginrun.Config)) {
			p := open(t, plugintest.Crasher, carrier)
			before := pid(t, p)
			ctx, cancel := context.WithTimeout(t.Context(), ceiling)
			defer cancel()
			_, err := p.Execute(ctx, tool.Call{Name: c.tool, Arguments: []byte(c.args)})
			checkCrash(t, err, c.exit, c.lastWords)
			if c.name == "panic" && !strings.Contains(err.Error(), "panic: the author's mistake") {
				t.Errorf("the panic's text is not in %q", err)
			}
			if after := pid(t, p); after == before {
				t.Errorf("the process is still %d", after)
			}
			if s := p.Status(); s.Starts != 2 || s.State != plugin.Ready {
				t.Errorf("status %+v", s)
			}
		})
	}
}

// All calls under way end once, each with the typed error; a neighbour's do not
// notice.
func TestKilledDuringManyCalls(t *testing.T) {
	t.Parallel()
	onCarriers(t, "killed", killDuringManyCalls)
}

func killDuringManyCalls(t *testing.T, carrier func(*pluginrun.Config)) {
	victim, neighbour := open(t, plugintest.Crasher, carrier), open(t, plugintest.Crasher, carrier)
	before, neighbours := pid(t, victim), pid(t, neighbour)

	const calls = 50
	ended := make(chan error, calls)
	for range calls {
		go func() {
			_, err := victim.Execute(t.Context(), tool.Call{Name: "crash.wait"})
			ended <- err
		}()
	}
	require.Eventually(t, "the plugin has got the calls", func() bool { return number(t, victim, "crash.waiting") == calls })
	require.NoError(t, syscall.Kill(before, syscall.SIGKILL))
	for range calls {
		checkCrash(t, <-ended, plugin.ExitError{Code: -1, Signal: "SIGKILL"}, "")
	}
	if got := pid(t, neighbour); got != neighbours {
		t.Errorf("the neighbour was started again: %d, before %d", got, neighbours)
	}
	if after := pid(t, victim); after == before {
		t.Error("the victim was not started again")
	}
}

// The line that panics go-plugin's own log parser.
func TestHostileLogLine(t *testing.T) {
	t.Parallel()
	p := open(t, plugintest.Crasher)
	for _, line := range []string{`{"@message":42}`, `{"@level":[],"@message":"x"}`, `{"@timestamp":{}}`, strings.Repeat("x", 1<<20)} {
		args := require.Must(json.Marshal(map[string]string{"line": line}))(t)
		call(t, p, "crash.say", string(args))
	}
	_, err := p.Execute(t.Context(), tool.Call{Name: "crash.exit", Arguments: []byte(`{"code":1}`)})
	checkCrash(t, err, plugin.ExitError{Code: 1}, `{"@message":42}`)
}

func TestCloseWhileCallsAndStarts(t *testing.T) {
	t.Parallel()
	onCarriers(t, "closed", closeWhileCallsAndStarts)
}

func closeWhileCallsAndStarts(t *testing.T, carrier func(*pluginrun.Config)) {
	p := open(t, plugintest.Crasher, carrier, func(c *pluginrun.Config) { c.DrainTimeout = 1 })
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			_, err := p.Execute(t.Context(), tool.Call{Name: "crash.wait"})
			if code := tool.CodeOf(err); code != tool.CodeCrashed && code != tool.CodeUnavailable && code != tool.CodeCanceled {
				t.Errorf("got %v", err)
			}
		})
	}
	for range 3 {
		all.Go(func() {
			assert.NoError(t, p.Close(t.Context()))
		})
	}
	all.Wait()
	if _, err := p.List(t.Context()); tool.CodeOf(err) != tool.CodeUnavailable {
		t.Errorf("after Close: %v", err)
	}
}

// Calls that end soon are waited for.
func TestCloseDrains(t *testing.T) {
	t.Parallel()
	onCarriers(t, "drains", closeDrains)
}

func closeDrains(t *testing.T, carrier func(*pluginrun.Config)) {
	p := open(t, plugintest.Fixture, carrier)
	require.Must(p.List(t.Context()))(t)
	results := make(chan error, 8)
	for range cap(results) {
		go func() {
			_, err := p.Execute(t.Context(), tool.Call{Name: "test.echo", Arguments: []byte(`{"text":"x"}`)})
			results <- err
		}()
	}
	_ = p.Close(t.Context())
	for range cap(results) {
		if err := <-results; err != nil && tool.CodeOf(err) != tool.CodeUnavailable {
			t.Errorf("a call was lost to Close: %v", err)
		}
	}
}
