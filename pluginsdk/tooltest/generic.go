package tooltest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/fixture"
	"github.com/toolhost/toolhost/internal/sample"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The checks of any provider, with calls that are made from the schemas of its tools.

// callsOf returns calls that a provider should carry out: those given, and for each safe tool
// without one two that are made from its schema, with all arguments and with the required
// ones.
func callsOf(t *testing.T, defs []tool.Definition, given []tool.Call) []tool.Call {
	t.Helper()
	out := slices.Clone(given)
	for _, d := range defs {
		named := func(c tool.Call) bool { return c.Name == d.Name }
		if d.Safety != tool.Safe || slices.ContainsFunc(given, named) || isFixture(d.Name) {
			continue
		}
		before := len(out)
		for _, all := range []bool{true, false} {
			args := sample.Arguments(d.InputSchema, all)
			if checkArguments(t.Context(), d, args) == nil {
				out = append(out, tool.Call{Name: d.Name, Arguments: args})
			}
		}
		if len(out) == before {
			t.Logf("%s is not called: no arguments could be made from its schema (give Run a call of it)", d.Name)
		}
	}
	return out
}

// isFixture reports whether a name is that of a tool of [Fixture].
func isFixture(name string) bool {
	return slices.ContainsFunc(fixture.Tools(), func(f tool.Tool) bool { return f.Name == name })
}

// checkCalls makes each call once.
func checkCalls(t *testing.T, p tool.Provider, calls []tool.Call) {
	defs := list(t, p)
	for _, c := range calls {
		i := slices.IndexFunc(defs, func(d tool.Definition) bool { return d.Name == c.Name })
		if i < 0 {
			t.Errorf("%s is not listed", c.Name)
			continue
		}
		res, err := within(t, func() (tool.Result, error) { return p.Execute(t.Context(), c) })
		judge(t, defs[i], c, res, err)
	}
}

// judge checks what a call ended with. A tool may fail, in its own terms or with an error.
func judge(t *testing.T, d tool.Definition, c tool.Call, res tool.Result, err error) {
	t.Helper()
	var e *tool.Error
	switch {
	case err == nil:
		if err := checkResult(t.Context(), d, res); err != nil {
			t.Errorf("%s %s: %v", c.Name, c.Arguments, err)
		}
		if slices.Contains(res.Content, nil) {
			t.Errorf("%s %s: a content block is nil", c.Name, c.Arguments)
		} else if _, err := json.Marshal(res); err != nil {
			t.Errorf("%s %s: the result is not JSON: %v", c.Name, c.Arguments, err)
		}
	case !errors.As(err, &e):
		t.Errorf("%s %s: %v is not a *tool.Error", c.Name, c.Arguments, err)
	case e.Code == tool.CodeInvalidArguments && e.Stage == callstage.Execute:
		t.Errorf("%s refuses what its schema allows, %s: %v", c.Name, c.Arguments, err)
	case strings.Contains(e.Message, "panic: "):
		t.Errorf("%s %s: %v\n%s", c.Name, c.Arguments, err, e.Detail)
	}
}

// checkSideBySide makes the calls at the same time.
func checkSideBySide(t *testing.T, p tool.Provider, calls []tool.Call) {
	defs := list(t, p)
	var all sync.WaitGroup
	for _, c := range slices.Concat(calls, calls, calls) {
		all.Go(func() {
			res, err := p.Execute(t.Context(), c)
			if i := slices.IndexFunc(defs, func(d tool.Definition) bool { return d.Name == c.Name }); i >= 0 {
				judge(t, defs[i], c, res, err)
			}
		})
	}
	if _, err := within(t, func() (struct{}, error) { all.Wait(); return struct{}{}, nil }); err != nil {
		t.Fatal(err)
	}
}

// checkCanceledCalls makes calls whose context has ended.
func checkCanceledCalls(t *testing.T, p tool.Provider, calls []tool.Call) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range calls {
		_, err := within(t, func() (tool.Result, error) { return p.Execute(ctx, c) })
		if !errors.Is(err, context.Canceled) || tool.CodeOf(err) != tool.CodeCanceled {
			t.Errorf("%s: a call whose context has ended returned %v, want the code canceled", c.Name, err)
		}
	}
}

// checkCloseTwice closes a provider that was used, twice.
func checkCloseTwice(t *testing.T, p tool.Provider, calls []tool.Call) {
	for _, c := range calls[:min(1, len(calls))] {
		_, _ = within(t, func() (tool.Result, error) { return p.Execute(t.Context(), c) })
	}
	for range 2 {
		if err := closeWithin(t, p, ceiling); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if n, ok := p.(tool.Notifier); ok {
		_, err := within(t, func() (struct{}, error) {
			for range n.Changes() { // until it is closed
			}
			return struct{}{}, nil
		})
		if err != nil {
			t.Errorf("Close does not close the channel of Changes: %v", err)
		}
	}
}
