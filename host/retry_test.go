package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A plugin that dies under a call is asked again only if that does no harm, by
// its own ledger.
func TestRetries(t *testing.T) {
	t.Parallel()
	dir, root := plugintest.Dir(t, plugintest.Crasher), t.TempDir()
	h := newHost(t, host.WithRoot(root))
	require.Must(h.Load(t.Context(), dir))(t)
	ledger := func(name string) int {
		b := require.Must(os.ReadFile(filepath.Join(root, "ledger")))(t)
		return strings.Count(string(b), name+"\n")
	}
	if out := h.Call(t.Context(), tool.Call{Name: "crash.flaky"}); !out.Success || out.Metadata.Attempts != 3 || ledger("crash.flaky") != 3 {
		t.Errorf("an idempotent tool: %d runs, outcome %+v", ledger("crash.flaky"), out)
	}
	out := h.Call(t.Context(), tool.Call{Name: "crash.once"})
	if out.Success || out.Error.Code != tool.CodeCrashed || out.Metadata.Attempts != 1 || ledger("crash.once") != 1 {
		t.Errorf("a tool that is not: %d runs, outcome %+v", ledger("crash.once"), out)
	}
}

// What is refused never reaches a plugin, by its own ledger.
func TestRefusalsDoNotReachThePlugin(t *testing.T) {
	t.Parallel()
	dir, root := plugintest.Dir(t, plugintest.Crasher), t.TempDir()
	h := newHost(t, host.WithRoot(root))
	require.Must(h.Load(t.Context(), dir))(t)
	granted := h.Session(host.WithGrants("guard"))
	for _, c := range []struct {
		session    *host.Session
		name, args string
		code       tool.Code
		runs       int
	}{
		{granted, "crash.unknown", `{"code":1}`, tool.CodeNotFound, 0},
		{granted, "crash.guarded", `{}`, tool.CodeInvalidArguments, 0},
		{granted, "crash.guarded", `{"code":"1"}`, tool.CodeInvalidArguments, 0},
		{h.Session(), "crash.guarded", `{"code":1}`, tool.CodePermissionDenied, 0},
		{granted, "crash.guarded", `{"code":1}`, "", 1},
		{granted, "crash.guarded", `{"code":1}`, tool.CodeRateLimited, 1},
	} {
		out := c.session.Call(t.Context(), tool.Call{Name: c.name, Arguments: []byte(c.args)})
		var code tool.Code
		if out.Error != nil {
			code = out.Error.Code
		}
		ledger, _ := os.ReadFile(filepath.Join(root, "ledger")) // not there before the first run
		if runs := strings.Count(string(ledger), "\n"); code != c.code || runs != c.runs {
			t.Errorf("%s(%s): %s after %d runs, want %s after %d: %s", c.name, c.args, code, runs, c.code, c.runs, out.Content)
		}
	}
}

func TestWhatIsRetried(t *testing.T) {
	t.Parallel()
	fault := func(code tool.Code, unsent bool) error {
		return &tool.Error{Code: code, Message: "no", Unsent: unsent}
	}
	for _, c := range []struct {
		name       string
		idempotent bool
		res        tool.Result
		err        error
		attempts   int
	}{
		{"crashed", true, tool.Result{}, fault(tool.CodeCrashed, false), 3},
		{"crashed, not idempotent", false, tool.Result{}, fault(tool.CodeCrashed, false), 1},
		{"never sent, not idempotent", false, tool.Result{}, fault(tool.CodeUnavailable, true), 3},
		{"its own failure", true, tool.Failure("no"), nil, 1},
		{"its own error", true, tool.Result{}, errors.New("no"), 1},
		{"invalid", true, tool.Result{}, fault(tool.CodeInvalidArguments, true), 1},
		{"denied", true, tool.Result{}, fault(tool.CodePermissionDenied, true), 1},
		{"rate limited", true, tool.Result{}, fault(tool.CodeRateLimited, true), 1},
		{"nonsense", true, tool.Result{}, fault(tool.CodeInvalidResult, false), 1},
		{"fine", true, tool.Text("yes"), nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			x := echo("x", func(d *tool.Definition) { d.MaxRetries, d.Idempotent = 2, c.idempotent })
			x.Handler = func(context.Context, tool.Call) (tool.Result, error) { return c.res, c.err }
			require.Must(h.Upsert("plug", x))(t)
			if out := h.Call(t.Context(), tool.Call{Name: "x"}); out.Metadata.Attempts != c.attempts {
				t.Errorf("%d attempts, want %d: %+v", out.Metadata.Attempts, c.attempts, out)
			}
		})
	}
}

func TestNoRetryAfterCancel(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	ctx, cancel := context.WithCancel(t.Context())
	x := echo("x", func(d *tool.Definition) { d.MaxRetries, d.Idempotent = 10, true })
	x.Handler = func(context.Context, tool.Call) (tool.Result, error) {
		cancel()
		return tool.Result{}, &tool.Error{Code: tool.CodeCrashed, Message: "gone"}
	}
	require.Must(h.Upsert("plug", x))(t)
	if out := h.Call(ctx, tool.Call{Name: "x"}); out.Metadata.Attempts != 1 {
		t.Errorf("outcome %+v", out)
	}
}

func TestAbsurdRetriesAreRefused(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for _, n := range []int{-1, 11, 1 << 31} {
		err := h.Register(echo("x", func(d *tool.Definition) { d.MaxRetries = n }))
		if tool.CodeOf(err) != tool.CodeInvalidDefinition || !strings.Contains(err.Error(), "max_retries") {
			t.Errorf("%d: %v", n, err)
		}
	}
}
