package host_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/fixture"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// viewed is what a caller was shown of calls: the text so far, and before each reset.
type viewed struct {
	text  string
	void  []string
	first chan struct{} // closed at the first delta; nil: no one waits for it
}

func (s *viewed) take(d tool.Delta) {
	if d.Reset {
		s.void, s.text = append(s.void, s.text), ""
		return
	}
	if s.text == "" && s.void == nil && s.first != nil {
		close(s.first)
	}
	s.text += d.Text
}

// What a caller is shown is all of the first block, wherever the tool runs.
func TestDeltasAddUp(t *testing.T) {
	t.Parallel()
	dir := plugintest.Dir(t, plugintest.Fixture)
	own, inner, outer := newHost(t), newHost(t), newHost(t)
	for _, f := range fixture.Tools() {
		require.NoError(t, own.Register(f))
	}
	require.Must(inner.Load(t.Context(), dir))(t)
	require.Must(outer.Attach(t.Context(), "inner", inner))(t)
	set := require.Must(tool.NewSet(fixture.Tools()...))(t)
	attached := newHost(t)
	require.Must(attached.Attach(t.Context(), "set", set))(t)
	for name, h := range map[string]*host.Host{"function": own, "plugin": inner, "host in a host": outer, "set": attached} {
		var s viewed
		_, res, err := h.Session().CallWith(t.Context(), tool.Call{Name: fixture.StreamTool}, host.CallOptions{Deltas: s.take})
		if err != nil || s.text != fixture.StreamedText || s.void != nil || len(res.Content) != 2 {
			t.Errorf("%s: %v, %d bytes of %d, %d blocks", name, err, len(s.text), len(fixture.StreamedText), len(res.Content))
		}
	}
}

// streams is a tool that streams what it is told, and returns a result.
func streams(name string, change func(*tool.Definition), run func(ctx context.Context, out tool.TextWriter) (tool.Result, error)) tool.Tool {
	t := echo(name, func(d *tool.Definition) {
		if change != nil {
			change(d)
		}
	})
	t.Handler = func(ctx context.Context, _ tool.Call) (tool.Result, error) { return run(ctx, tool.Stream(ctx)) }
	return t
}

// A caller sees no more of a text as it comes than of the result.
func TestDeltasAreLimited(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	err := h.Register(streams("long", nil, func(_ context.Context, out tool.TextWriter) (tool.Result, error) {
		for range 10 {
			if _, err := out.WriteString("0123456789é"); err != nil {
				return tool.Result{}, err
			}
		}
		return tool.Text("more"), nil
	}))
	require.NoError(t, err)
	whole := strings.Repeat("0123456789é", 10)
	for limit, want := range map[int]string{0: whole, 15: "0123456789é0123", 110: whole, 5: "01234"} {
		var s viewed
		session := h.Session(host.WithResultLimit(limit))
		_, res, err := session.CallWith(t.Context(), tool.Call{Name: "long"}, host.CallOptions{Deltas: s.take})
		first, _ := res.Content[0].(tool.TextContent)
		if err != nil || s.text != want || first.Text != want {
			t.Errorf("limit %d: %v, shown %q, the result begins %q", limit, err, s.text, first.Text)
		}
	}
}

// A result that is too large, or is not what was streamed, is an error.
func TestDeltasMustFit(t *testing.T) {
	t.Parallel()
	dir := plugintest.Dir(t, plugintest.Fixture)
	inner := newHost(t)
	lies := echo("lies")
	lies.Handler = func(ctx context.Context, _ tool.Call) (tool.Result, error) { return tool.Text("truth"), nil }
	for _, one := range []tool.Tool{
		streams("fails", nil, func(_ context.Context, out tool.TextWriter) (tool.Result, error) {
			_, _ = out.WriteString("so far so good\n")
			return tool.Failure("and then it broke"), nil
		}),
		streams("panics", nil, func(_ context.Context, out tool.TextWriter) (tool.Result, error) {
			_, _ = out.WriteString("so far so good\n")
			panic("broken")
		}),
	} {
		require.NoError(t, inner.Register(one))
	}
	outer := newHost(t, host.WithPluginSettings(func(_ string, s *plugin.Settings) { s.Limits.MaxResult = 1000 }))
	require.Must(outer.Load(t.Context(), dir))(t)
	require.Must(outer.Attach(t.Context(), "inner", inner))(t)
	require.Must(outer.Attach(t.Context(), "liar", liar{require.Must(tool.NewSet(lies))(t)}))(t)
	s := outer.Session()
	for name, c := range map[string]struct {
		code  tool.Code
		shown string
		text  string
	}{
		"lies":   {tool.CodeInvalidResult, "a lie", "does not begin with the text that it has streamed"},
		"panics": {tool.CodeToolFailed, "so far so good\n", "broken"},
		"fails":  {"", "so far so good\n", "so far so good\n\nand then it broke"},
	} {
		var sh viewed
		out, _, err := s.CallWith(t.Context(), tool.Call{Name: name}, host.CallOptions{Deltas: sh.take})
		if tool.CodeOf(err) != c.code || sh.text != c.shown || !strings.Contains(out.Content, c.text) || out.Success {
			t.Errorf("%s: %v, shown %.40q, %+v", name, err, sh.text, out)
		}
	}
	var large viewed
	_, _, err := s.CallWith(t.Context(), tool.Call{Name: fixture.StreamTool}, host.CallOptions{Deltas: large.take})
	if tool.CodeOf(err) != tool.CodeResourceExhausted || len(large.text) > 1000 || !strings.HasPrefix(fixture.StreamedText, large.text) {
		t.Errorf("a text beyond the bound: %v, %d bytes shown", err, len(large.text))
	}
	out := s.Call(t.Context(), tool.Call{Name: "lies"})
	if !out.Success || out.Content != "truth" {
		t.Errorf("a caller that wants no deltas: %+v", out)
	}
}

// liar shows something else than its tools return.
type liar struct{ tool.Provider }

func (l liar) Execute(ctx context.Context, c tool.Call) (tool.Result, error) {
	if show := callctx.Get[func(tool.Delta)](ctx, callctx.Deltas{}); show != nil {
		show(tool.Delta{Text: "a lie"})
	}
	return l.Provider.Execute(ctx, c)
}

// What is shown of an attempt that fails is void.
func TestDeltasOfRetries(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	runs := 0
	require.NoError(t, h.Register(streams("again", func(d *tool.Definition) { d.Idempotent, d.MaxRetries = true, 2 },
		func(ctx context.Context, out tool.TextWriter) (tool.Result, error) {
			runs++
			_, _ = fmt.Fprintf(out, "attempt %d", runs)
			if runs < 3 {
				return tool.Result{}, tool.Errorf(tool.CodeUnavailable, "not yet")
			}
			return tool.Result{}, nil
		})))
	var s viewed
	_, res, err := h.Session().CallWith(t.Context(), tool.Call{Name: "again"}, host.CallOptions{Deltas: s.take})
	if err != nil || res.Text() != "attempt 3" || s.text != "attempt 3" || fmt.Sprint(s.void) != "[attempt 1 attempt 2]" {
		t.Errorf("%v: %q, shown %q after %q", err, res.Text(), s.text, s.void)
	}
}

// The embedding program's steps decide on the result, so that nothing is shown before they have. A
// call that a handler makes is not its caller's. A function that panics fails the call.
func TestDeltasStayInside(t *testing.T) {
	t.Parallel()
	secret := streams("secret", nil, func(_ context.Context, out tool.TextWriter) (tool.Result, error) {
		_, err := out.WriteString("secret")
		return tool.Result{}, err
	})
	h := newHost(t, host.WithMiddleware(func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c tool.Call) (tool.Result, error) {
			_, err := next(ctx, c)
			return tool.Text("[redacted]"), err
		}
	}))
	require.NoError(t, h.Register(secret))
	var s viewed
	out, _, _ := h.Session().CallWith(t.Context(), tool.Call{Name: "secret"}, host.CallOptions{Deltas: s.take})
	if out.Content != "[redacted]" || s.text != "" {
		t.Errorf("%+v, shown %q", out, s.text)
	}

	h = newHost(t)
	nested := streams("nested", nil, func(ctx context.Context, out tool.TextWriter) (tool.Result, error) {
		_, _ = out.WriteString("outer ")
		res, err := h.Execute(ctx, tool.Call{Name: "secret"})
		_, _ = out.WriteString("with " + res.Text())
		return tool.Result{}, err
	})
	for _, one := range []tool.Tool{secret, nested} {
		require.NoError(t, h.Register(one))
	}
	s = viewed{}
	out, _, _ = h.Session().CallWith(t.Context(), tool.Call{Name: "nested"}, host.CallOptions{Deltas: s.take})
	if want := "outer with secret"; out.Content != want || s.text != want {
		t.Errorf("%+v, shown %q", out, s.text)
	}
	ctx := tool.WithDeltas(t.Context(), s.take)
	s = viewed{}
	if all := h.Session().CallAll(ctx, []tool.Call{{Name: "secret"}, {Name: "nested"}}); s.text != "" || !all[1].Success {
		t.Errorf("%+v, shown %q", all, s.text)
	}
	_, _, err := h.Session().CallWith(t.Context(), tool.Call{Name: "secret"},
		host.CallOptions{Deltas: func(tool.Delta) { panic("cannot show it") }})
	if tool.CodeOf(err) != tool.CodeInternal || !strings.Contains(err.Error(), "cannot show it") {
		t.Errorf("a function that panics: %v", err)
	}
}

// A caller that gives up in the middle of a text ends the tool.
func TestDeltasOfACanceledCall(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	ended := make(chan error, 1)
	err := h.Register(streams("endless", nil, func(_ context.Context, out tool.TextWriter) (tool.Result, error) {
		for {
			if _, err := out.WriteString("on and on\n"); err != nil {
				ended <- err
				return tool.Result{}, err
			}
		}
	}))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), ceiling)
	defer cancel()
	s := viewed{first: make(chan struct{})}
	go func() { <-s.first; cancel() }()
	_, _, err = h.Session().CallWith(ctx, tool.Call{Name: "endless"}, host.CallOptions{Deltas: s.take})
	assert.Equalf(t, tool.CodeOf(err), tool.CodeCanceled, "got %v", err)
	select {
	case err := <-ended:
		assert.ErrorIsf(t, err, context.Canceled, "the tool is told")
	case <-time.After(ceiling):
		t.Error("the tool goes on")
	}
}
