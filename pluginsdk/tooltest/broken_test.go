package tooltest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/fixture"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The suite must fail for providers that break the contract. A test cannot expect a
// subtest to fail, so each provider is tested in a separate process.
const brokenEnv = "TOOLTEST_BROKEN"

func TestMain(m *testing.M) {
	if os.Getenv(brokenEnv) != "" {
		ceiling = 500 * time.Millisecond
	}
	os.Exit(m.Run())
}

// bent is a correct provider with one mistake.
type bent struct {
	tool.Provider
	list    func(tool.Provider) ([]tool.Definition, error)
	execute func(context.Context, tool.Provider, tool.Call) (tool.Result, error)
	close   func(context.Context) error
}

func (b *bent) List(ctx context.Context) ([]tool.Definition, error) {
	if b.list != nil {
		return b.list(b.Provider)
	}
	return b.Provider.List(ctx)
}

func (b *bent) Execute(ctx context.Context, c tool.Call) (tool.Result, error) {
	if b.execute != nil {
		return b.execute(ctx, b.Provider, c)
	}
	return b.Provider.Execute(ctx, c)
}

func (b *bent) Close(ctx context.Context) error {
	if b.close != nil {
		return b.close(ctx)
	}
	return b.Provider.Close(ctx)
}

// broken returns providers by the name of the check that must fail for them.
func broken() map[string]*bent {
	failed := func(_ context.Context, p tool.Provider, c tool.Call, change func(*tool.Error)) (tool.Result, error) {
		r, err := p.Execute(context.Background(), c)
		var e *tool.Error
		if errors.As(err, &e) {
			other := *e
			change(&other)
			err = &other
		}
		return r, err
	}
	var once sync.Once
	var kept []tool.Definition
	var mu sync.Mutex
	var last tool.Result
	closed := false
	return map[string]*bent{
		"List": {list: func(p tool.Provider) ([]tool.Definition, error) {
			defs, err := p.List(context.Background())
			slices.Reverse(defs)
			return defs, err
		}},
		"ListIsACopy": {list: func(p tool.Provider) (_ []tool.Definition, err error) {
			once.Do(func() { kept, err = p.List(context.Background()) })
			return kept, err
		}},
		"Echo": {execute: func(ctx context.Context, p tool.Provider, c tool.Call) (tool.Result, error) {
			r, err := p.Execute(ctx, c)
			r.Structured = nil
			return r, err
		}},
		"Content": {execute: func(ctx context.Context, p tool.Provider, c tool.Call) (tool.Result, error) {
			r, err := p.Execute(ctx, c)
			return tool.Text(r.Text()), err
		}},
		"NotFound": {execute: func(ctx context.Context, p tool.Provider, c tool.Call) (tool.Result, error) {
			return failed(ctx, p, c, func(e *tool.Error) { e.Code, e.Err = tool.CodeUnavailable, nil })
		}},
		"Failure": {execute: func(ctx context.Context, p tool.Provider, c tool.Call) (tool.Result, error) {
			r, err := p.Execute(ctx, c)
			if r.IsError {
				return tool.Result{}, errors.New(r.Text())
			}
			return r, err
		}},
		"PlainError": {execute: func(ctx context.Context, p tool.Provider, c tool.Call) (tool.Result, error) {
			return failed(ctx, p, c, func(e *tool.Error) { e.Message = fixture.ErrorText })
		}},
		"CodedError": {execute: func(ctx context.Context, p tool.Provider, c tool.Call) (tool.Result, error) {
			return failed(ctx, p, c, func(e *tool.Error) { e.Hint = "" })
		}},
		"Panic": {execute: func(ctx context.Context, p tool.Provider, c tool.Call) (tool.Result, error) {
			return failed(ctx, p, c, func(e *tool.Error) { e.Message += e.Detail })
		}},
		"Session": {execute: func(ctx context.Context, p tool.Provider, c tool.Call) (tool.Result, error) {
			c.Session = ""
			return p.Execute(ctx, c)
		}},
		"Stream": {execute: func(ctx context.Context, p tool.Provider, c tool.Call) (tool.Result, error) {
			if show := callctx.Get[func(tool.Delta)](ctx, callctx.Deltas{}); show != nil && c.Name == fixture.StreamTool {
				show(tool.Delta{Text: "something else"})
			}
			return p.Execute(ctx, c)
		}},
		"Large": {execute: func(ctx context.Context, p tool.Provider, c tool.Call) (tool.Result, error) {
			r, err := p.Execute(ctx, c)
			if b, ok := r.Content[0].(tool.ResourceContent); ok {
				b.Blob = b.Blob[:len(b.Blob)-1]
				r.Content[0] = b
			}
			return r, err
		}},
		"Garbled": {execute: func(ctx context.Context, p tool.Provider, c tool.Call) (tool.Result, error) {
			r, err := p.Execute(ctx, c)
			return tool.Text(strings.TrimSuffix(r.Text(), " end")), err
		}},
		"Concurrent": {execute: func(ctx context.Context, p tool.Provider, c tool.Call) (tool.Result, error) {
			r, err := p.Execute(ctx, c)
			mu.Lock()
			defer mu.Unlock()
			if last.Content == nil {
				last = r
			}
			return last, err
		}},
		"Canceled": {execute: func(ctx context.Context, p tool.Provider, c tool.Call) (tool.Result, error) {
			// It returns in time, but does not cancel the handler.
			done := begin(context.WithoutCancel(ctx), p, c)
			if c.Name != fixture.WaitTool {
				return done()
			}
			<-ctx.Done()
			return tool.Result{}, tool.ExecutionError(c.Name, ctx.Err())
		}},
		"CanceledBefore": {execute: func(_ context.Context, p tool.Provider, c tool.Call) (tool.Result, error) {
			return p.Execute(context.Background(), c)
		}},
		"Deadline": {execute: func(ctx context.Context, p tool.Provider, c tool.Call) (tool.Result, error) {
			return p.Execute(context.WithoutCancel(ctx), c)
		}},
		"Calls": {execute: func(ctx context.Context, p tool.Provider, c tool.Call) (tool.Result, error) {
			if c.Name == ownTool {
				return tool.Text("no structured output"), nil
			}
			return p.Execute(ctx, c)
		}},
		"SideBySide": {execute: func(ctx context.Context, p tool.Provider, c tool.Call) (tool.Result, error) {
			if c.Name == ownTool {
				return tool.Result{}, &tool.Error{Code: tool.CodeInvalidArguments, Stage: callstage.Execute}
			}
			return p.Execute(ctx, c)
		}},
		"CanceledCalls": {execute: func(ctx context.Context, p tool.Provider, c tool.Call) (tool.Result, error) {
			return p.Execute(context.WithoutCancel(ctx), c)
		}},
		"Close": {close: func(context.Context) error {
			if closed {
				return errors.New("closed already")
			}
			closed = true
			return nil
		}},
		"CloseDuringACall": {close: func(context.Context) error { select {} }},
	}
}

func TestBroken(t *testing.T) {
	t.Parallel()
	if os.Getenv(brokenEnv) != "" {
		t.Skip("this process runs TestTry")
	}
	self := require.Must(os.Executable())(t)
	for check := range broken() {
		t.Run(check, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestTry$/^"+check+"$")
			cmd.Env = append(os.Environ(), brokenEnv+"="+check)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestTry/"+check) {
				t.Errorf("the check %s does not fail (%v):\n%s", check, err, out)
			}
		})
	}
}

func TestTry(t *testing.T) {
	t.Parallel()
	b := broken()[os.Getenv(brokenEnv)]
	if b == nil {
		t.Skip("run by TestBroken")
	}
	Run(t, func(t *testing.T) tool.Provider {
		set := require.Must(tool.NewSet(append(fixture.Tools(), own())...))(t)
		own := *b
		own.Provider = set
		return &own
	})
}
