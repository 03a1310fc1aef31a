package tool_test

import (
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func named(name string, h tool.Handler) tool.Tool {
	return tool.Tool{Definition: tool.Definition{Name: name, Description: "Does.", Categories: []string{"c"}}, Handler: h}
}

func fine(context.Context, tool.Call) (tool.Result, error) { return tool.Text("fine"), nil }

func newSet(t *testing.T, tools ...tool.Tool) *tool.Set {
	t.Helper()
	s := require.Must(tool.NewSet(tools...))(t)
	return s
}

func TestSetList(t *testing.T) {
	t.Parallel()
	in := []tool.Tool{named("b", fine), named("a", fine), named("B", fine), named("a.b", fine)}
	s := newSet(t, in...)
	in[0].Categories[0] = "changed" // after NewSet has copied it
	first := require.Must(s.List(t.Context()))(t)
	var got []string
	for _, d := range first {
		got = append(got, d.Name)
	}
	if want := []string{"B", "a", "a.b", "b"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	first[0].Name, first[1].Categories[0] = "spoilt", "spoilt"
	again, _ := s.List(t.Context())
	for _, d := range again {
		if d.Name == "spoilt" || d.Categories[0] != "c" {
			t.Errorf("the list is shared: %+v", d)
		}
	}
	if defs, err := newSet(t).List(t.Context()); err != nil || defs == nil || len(defs) != 0 {
		t.Errorf("an empty set lists %#v, %v", defs, err)
	}
}

func TestNewSetReportsAllFaults(t *testing.T) {
	t.Parallel()
	s, err := tool.NewSet(
		named("", fine), named("twice", fine), named("twice", fine), named("bare", nil), named("good", fine))
	if s != nil || err == nil {
		t.Fatalf("%v, %v", s, err)
	}
	if !errors.Is(err, tool.ErrEmptyName) || !errors.Is(err, tool.ErrAlreadyExists) {
		t.Errorf("%v lacks a sentinel", err)
	}
	for _, want := range []string{"tool name is empty", `"twice" is defined twice`, `"bare": the handler is nil`} {
		assert.Containsf(t, err.Error(), want, "%v does not say: %s", err, want)
	}
	assert.NotContainsf(t, err.Error(), "good", "%v names a valid tool", err)
	_, err = tool.NewSet(named("twice", fine), named("twice", fine))
	assert.Equalf(t, tool.CodeOf(err), tool.CodeAlreadyExists, "a duplicate name has the code")
	_, err = tool.NewSet(named("bare", nil))
	assert.Equalf(t, tool.CodeOf(err), tool.CodeInvalidDefinition, "a missing handler has the code")
}

func TestSetExecute(t *testing.T) {
	t.Parallel()
	var missing *tool.Error
	called := false
	s := newSet(t,
		named("fine", fine),
		named("error", func(context.Context, tool.Call) (tool.Result, error) { return tool.Text("lost"), io.EOF }),
		named("panic", func(context.Context, tool.Call) (tool.Result, error) { panic("the value") }),
		named("nil.error", func(context.Context, tool.Call) (tool.Result, error) { return tool.Text("x"), missing }),
		named("nil.block", func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{Content: []tool.Content{tool.TextContent{}, nil}}, nil
		}),
		named("nil.pointer", func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{Content: []tool.Content{(*tool.TextContent)(nil)}}, nil
		}),
		named("pointers", func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{Content: []tool.Content{&tool.TextContent{Text: "a"}, &tool.ResourceLink{URI: "b"}}}, nil
		}),
		named("marks", func(context.Context, tool.Call) (tool.Result, error) { called = true; return tool.Result{}, nil }),
	)
	ctx := t.Context()

	if r, err := s.Execute(ctx, tool.Call{Name: "fine"}); err != nil || r.Text() != "fine" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := s.Execute(ctx, tool.Call{Name: "pointers"}); err != nil || !reflect.DeepEqual(r.Content, []tool.Content{
		tool.TextContent{Text: "a"}, tool.ResourceLink{URI: "b"},
	}) {
		t.Errorf("pointers do not become values: %#v, %v", r, err)
	}
	for _, c := range []struct {
		name, message string
		code          tool.Code
	}{
		{"unknown", "Unknown tool: unknown", tool.CodeNotFound},
		{"error", "tool error execution failed: EOF", tool.CodeToolFailed},
		{"panic", "tool panic execution failed: panic: the value", tool.CodeToolFailed},
		{"nil.error", "tool nil.error execution failed: the handler's error is a nil *tool.Error", tool.CodeToolFailed},
		{"nil.block", "tool nil.block execution failed: content block 1 is nil", tool.CodeInvalidResult},
		{"nil.pointer", "tool nil.pointer execution failed: content block 0 is nil", tool.CodeInvalidResult},
	} {
		r, err := s.Execute(ctx, tool.Call{Name: c.name})
		var e *tool.Error
		if !errors.As(err, &e) || e.Message != c.message || e.Code != c.code || e.Tool != c.name {
			t.Errorf("%s: %+v, want %s: %s", c.name, err, c.code, c.message)
		}
		if !reflect.DeepEqual(r, tool.Result{}) {
			t.Errorf("%s: a result besides the error: %+v", c.name, r)
		}
	}
	if _, err := s.Execute(ctx, tool.Call{Name: "unknown"}); !errors.Is(err, tool.ErrNotFound) {
		t.Errorf("%v is not ErrNotFound", err)
	}
	_, err := s.Execute(ctx, tool.Call{Name: "panic"})
	e := tool.AsError(err)
	if !strings.Contains(e.Detail, "set_test.go") || strings.Contains(e.Error(), "set_test.go") {
		t.Errorf("the stack belongs in Detail only: %+v", e)
	}

	over, cancel := context.WithCancel(ctx)
	cancel()
	_, err = s.Execute(over, tool.Call{Name: "marks"})
	if !errors.Is(err, context.Canceled) || tool.CodeOf(err) != tool.CodeCanceled {
		t.Errorf("%v, want a cancelled call", err)
	}
	if called {
		t.Error("a call whose context had ended was run")
	}
	assert.NoError(t, errors.Join(s.Close(ctx), s.Close(ctx)))
}

func TestSetPreview(t *testing.T) {
	t.Parallel()
	answer := func(context.Context, tool.Call) (tool.Result, error) { return tool.Text("done"), nil }
	set, err := tool.NewSet(
		tool.Tool{
			Definition: tool.Definition{Name: "with", Description: "Has one."}, Handler: answer,
			Preview: func(context.Context, tool.Call) (tool.Result, error) { panic("mine") },
		},
		tool.Tool{Definition: tool.Definition{Name: "without", Description: "Has none."}, Handler: answer},
	)
	require.NoError(t, err)
	_, err = set.Preview(t.Context(), tool.Call{Name: "without"})
	if !errors.Is(err, tool.ErrNoPreview) || tool.CodeOf(err) != tool.CodeNotFound {
		t.Errorf("without: %v", err)
	}
	if _, err := set.Preview(t.Context(), tool.Call{Name: "with"}); tool.CodeOf(err) != tool.CodeToolFailed {
		t.Errorf("with: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := set.Preview(ended, tool.Call{Name: "with"}); tool.CodeOf(err) != tool.CodeCanceled {
		t.Errorf("after its context: %v", err)
	}
}

// Tools come and go while a set is used; what cannot be put changes nothing.
func TestSetChanges(t *testing.T) {
	t.Parallel()
	var set tool.Set
	answers := func(name, text string) tool.Tool {
		return tool.Tool{
			Definition: tool.Definition{Name: name, Description: "Answers " + text + "."},
			Handler:    func(context.Context, tool.Call) (tool.Result, error) { return tool.Text(text), nil },
		}
	}
	changes := set.Changes()
	listed := func() (out []string) {
		defs := require.Must(set.List(t.Context()))(t)
		for _, d := range defs {
			out = append(out, d.Name+": "+d.Description)
		}
		return out
	}
	for _, step := range []struct {
		do   func() error
		want []string
	}{
		{func() error { return set.Put(answers("b", "one"), answers("a", "one")) }, []string{"a: Answers one.", "b: Answers one."}},
		{func() error { return set.Put(answers("b", "two")) }, []string{"a: Answers one.", "b: Answers two."}},
		{func() error { set.Remove("a", "unknown"); return nil }, []string{"b: Answers two."}},
	} {
		require.NoError(t, step.do())
		<-changes
		assert.EqualSlicesf(t, listed(), step.want, "tools")
	}
	if err := set.Put(answers("c", "x"), answers("c", "y"), tool.Tool{}); tool.CodeOf(err) == "" || len(listed()) != 1 {
		t.Errorf("bad tools: %v, tools %q", err, listed())
	}
	if res, err := set.Execute(t.Context(), tool.Call{Name: "b"}); err != nil || res.Text() != "two" {
		t.Errorf("%v, %v", res, err)
	}
	if _, err := set.Execute(t.Context(), tool.Call{Name: "a"}); !errors.Is(err, tool.ErrNotFound) {
		t.Errorf("a tool that is gone: %v", err)
	}
	require.NoError(t, set.Close(t.Context()))
	if _, open := <-changes; open {
		t.Error("the channel is open after Close")
	}
}
