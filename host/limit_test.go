package host_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The rate limit is each caller's own, says when to try again, and reaches
// neither the approver nor the tool.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		runs, asked := 0, 0
		x := echo("x", func(d *tool.Definition) {
			d.Safety, d.RateLimit = tool.Dangerous, &tool.RateLimit{Calls: 2, Period: tool.Duration(time.Minute)}
		})
		require.NoError(t, h.Register(counted(x, &runs)))
		caller := func() *host.Session {
			return h.Session(host.WithApprover(policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
				asked++
				return policy.Decision{Verdict: policy.Allow}, nil
			})))
		}
		a, b := caller(), caller()
		for range 2 {
			require.Must(a.Execute(t.Context(), tool.Call{Name: "x"}))(t)
		}
		_, err := a.Execute(t.Context(), tool.Call{Name: "x"})
		var e *tool.Error
		if !errors.As(err, &e) || e.Code != tool.CodeRateLimited || time.Duration(e.RetryAfter) != 30*time.Second || !strings.Contains(err.Error(), "try again in 30") {
			t.Errorf("the third call: %+v", e)
		}
		if runs != 2 || asked != 2 {
			t.Errorf("%d runs, the approver was asked %d times", runs, asked)
		}
		require.Must(b.Execute(t.Context(), tool.Call{Name: "x"}))(t) // another caller's bucket
		time.Sleep(30 * time.Second)                                  // in the bubble's time
		require.Must(a.Execute(t.Context(), tool.Call{Name: "x"}))(t)
	})
}

// Only so many run, only so many wait, the rest is refused.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, host.WithDefaults(func(all *plugin.Settings) { all.Limits.Running, all.Limits.Waiting = 2, 1 }))
		release := make(chan struct{})
		var running, most atomic.Int64
		x := echo("x")
		x.Handler = func(context.Context, tool.Call) (tool.Result, error) {
			most.Store(max(most.Load(), running.Add(1)))
			<-release
			running.Add(-1)
			return tool.Text("done"), nil
		}
		require.NoError(t, h.Register(x))
		results := make(chan error, 3)
		for range 3 {
			go func() {
				_, err := h.Execute(t.Context(), tool.Call{Name: "x"})
				results <- err
			}()
			synctest.Wait()
		}
		if running.Load() != 2 {
			t.Errorf("%d run, want 2", running.Load())
		}
		_, err := h.Execute(t.Context(), tool.Call{Name: "x"})
		if tool.CodeOf(err) != tool.CodeResourceExhausted || !strings.Contains(err.Error(), "2 calls run and 1 wait") {
			t.Errorf("with a full queue: %v", err)
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		release <- struct{}{} // one ends, the one that waits runs
		synctest.Wait()
		if _, err := h.Execute(impatient, tool.Call{Name: "x"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while waiting: %v", err)
		}
		close(release)
		for range 3 {
			assert.NoError(t, <-results)
		}
		if most.Load() != 2 {
			t.Errorf("%d ran at once", most.Load())
		}
	})
}

func TestSizeLimits(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.WithDefaults(func(all *plugin.Settings) { all.Limits.MaxResult = 1000 }))
	runs := 0
	x := counted(echo("x"), &runs)
	require.NoError(t, h.Register(x))
	huge := append(append([]byte(`{"text":"`), bytes.Repeat([]byte("x"), 64<<20)...), `"}`...)
	_, err := h.Execute(t.Context(), tool.Call{Name: "x", Arguments: huge})
	if tool.CodeOf(err) != tool.CodeResourceExhausted || runs != 0 {
		t.Errorf("64 MiB of arguments: %v, %d runs", err, runs)
	}
	big := []byte(`{"text":"` + strings.Repeat("x", 2000) + `"}`)
	_, err = h.Execute(t.Context(), tool.Call{Name: "x", Arguments: big})
	if tool.CodeOf(err) != tool.CodeResourceExhausted || !strings.Contains(err.Error(), "more than 1000") {
		t.Errorf("a large result: %v", err)
	}
}

func TestOutputSchema(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for _, c := range []struct {
		name string
		res  tool.Result
		code tool.Code
		text string
	}{
		{"fits", tool.Result{Structured: []byte(`{"n":1}`)}, "", ""},
		{"breaks", tool.Result{Structured: []byte(`{"n":"1"}`)}, tool.CodeInvalidResult, "expected integer, got string"},
		{"missing", tool.Text("n is 1"), tool.CodeInvalidResult, "no structured output"},
		{"failure", tool.Failure("no n"), tool.CodeToolFailed, "no n"},
	} {
		x := echo("out."+c.name, func(d *tool.Definition) {
			d.OutputSchema = tool.Schema(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
		})
		x.Handler = func(context.Context, tool.Call) (tool.Result, error) { return c.res, nil }
		require.NoError(t, h.Register(x))
		out := h.Call(t.Context(), tool.Call{Name: "out." + c.name})
		var code tool.Code
		if out.Error != nil {
			code = out.Error.Code
		}
		if code != c.code || !strings.Contains(out.Content, c.text) {
			t.Errorf("%s: %+v", c.name, out)
		}
	}
}

func TestResultLimit(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	image := tool.ImageContent{Data: []byte{1}, MIMEType: "image/png"}
	for _, c := range []struct {
		name  string
		limit int
		res   tool.Result
		want  string
	}{
		{"fits", 5, tool.Text("äöüßé"), "äöüßé"},
		{"cut", 3, tool.Text("äöüßé"), "äöü\n[... truncated ...] 2 of 5 characters are missing"},
		{"blocks", 4, tool.Result{Content: []tool.Content{tool.TextContent{Text: "abc"}, image, tool.TextContent{Text: "def"}, tool.TextContent{Text: "ghi"}}},
			"abc\n[image image/png, 1 bytes]\nd\n[... truncated ...] 5 of 9 characters are missing"},
		{"structured", 4, tool.Result{Structured: []byte(`{"a":"bcdef"}`)}, "{\"a\"\n[... truncated ...] 9 of 13 characters are missing"},
		{"resource", 4, tool.Result{Content: []tool.Content{
			tool.ResourceContent{URI: "file:///a", Text: "abcdef"}, tool.ResourceContent{URI: "file:///b", Blob: []byte("ghi")}, tool.TextContent{Text: "j"},
		}}, "abcd\n[resource file:///b , 3 bytes]\n[... truncated ...] 3 of 7 characters are missing"},
		{"none", 0, tool.Text("abc"), "abc"},
	} {
		x := echo("cut." + c.name)
		x.Handler = func(context.Context, tool.Call) (tool.Result, error) { return c.res, nil }
		require.NoError(t, h.Register(x))
		out := h.Session(host.WithResultLimit(c.limit)).Call(t.Context(), tool.Call{Name: "cut." + c.name})
		if out.Content != c.want || !out.Success {
			t.Errorf("%s: %q, want %q", c.name, out.Content, c.want)
		}
	}
}

// The limit of a session is for errors, too: a handler of this process may put anything
// into them.
func TestResultLimitOfErrors(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	cause := errors.New(strings.Repeat("ä", 300_000))
	for name, handler := range map[string]tool.Handler{
		"plain": func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, cause },
		"coded": func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{}, &tool.Error{Code: tool.CodeNotFound, Message: cause.Error(), Hint: cause.Error(), Err: cause}
		},
	} {
		x := echo(name)
		x.Handler = handler
		require.NoError(t, h.Register(x))
		s := h.Session(host.WithResultLimit(100))
		out, _, err := s.CallWith(t.Context(), tool.Call{Name: name}, host.CallOptions{})
		if n := utf8.RuneCountInString(out.Content); n > 400 || !strings.Contains(out.Content, "characters are missing") {
			t.Errorf("%s: %d characters: %.300s", name, n, out.Content)
		}
		if !errors.Is(err, cause) || name == "coded" && tool.CodeOf(err) != tool.CodeNotFound {
			t.Errorf("%s: the cause is lost: %T", name, err)
		}
		if out := h.Session().Call(t.Context(), tool.Call{Name: name}); len(out.Content) < 600_000 {
			t.Errorf("%s: %d bytes without a limit", name, len(out.Content))
		}
	}
}
