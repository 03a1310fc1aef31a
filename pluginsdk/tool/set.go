package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"github.com/toolhost/toolhost/internal/callstage"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
)

// Tool is a definition and the functions that implement it.
type Tool struct {
	Definition
	// Handler runs the tool. Required.
	Handler Handler `json:"-"`
	// Preview reports what a call would do; see [Previewer]. Nil: no preview.
	Preview Handler `json:"-"`
}

// Set is a [Provider] of functions in this process. Its tools can change while it is used:
// [Set.Put] adds and replaces tools, [Set.Remove] removes them, and hosts are told. It is safe
// for concurrent use. The zero value has no tools.
type Set struct {
	now atomic.Pointer[setTools] // replaced whole

	mu          sync.Mutex // writers'
	subscribers []chan struct{}
	closed      bool
}

// setTools are the tools of a set at one moment.
type setTools struct {
	defs     []Definition // sorted by name
	handlers map[string]Handler
	previews map[string]Handler
}

var (
	_ Previewer = (*Set)(nil)
	_ Notifier  = (*Set)(nil)
)

// NewSet returns a provider of the given tools.
//
// # Errors
//
// [CodeInvalidDefinition] for a definition that [Definition.Check] refuses or a tool
// without a handler; [CodeAlreadyExists] for a second tool of the same name. The errors of
// all tools are joined; see [errors.Join].
func NewSet(tools ...Tool) (*Set, error) {
	s := &Set{}
	if err := s.Put(tools...); err != nil {
		return nil, err
	}
	return s, nil
}

// Put adds tools, and replaces those of the set that have the same names, in one step. Calls
// that run are not affected.
//
// # Errors
//
// Those of [NewSet]; then nothing changes.
func (s *Set) Put(tools ...Tool) error {
	added := map[string]Tool{}
	var faults []error
	for _, t := range tools {
		if err := checkTool(t, added); err != nil {
			faults = append(faults, err)
			continue
		}
		added[t.Name] = t
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	s.edit(func(next *setTools) {
		next.remove(func(name string) bool { _, there := added[name]; return there })
		for _, t := range tools {
			next.handlers[t.Name] = Protect(Collect(t.Handler))
			if t.Preview != nil {
				next.previews[t.Name] = Protect(Collect(t.Preview))
			}
			next.defs = append(next.defs, t.Clone())
		}
	})
	return nil
}

// Remove removes tools by their names, in one step. Names that the set does not have are
// ignored. Calls that run are not affected.
func (s *Set) Remove(names ...string) {
	s.edit(func(next *setTools) {
		next.remove(func(name string) bool { return slices.Contains(names, name) })
	})
}

func (s *Set) tools() *setTools {
	if now := s.now.Load(); now != nil {
		return now
	}
	return &setTools{}
}

// checkTool returns what is wrong with a tool of a set.
func checkTool(t Tool, others map[string]Tool) error {
	if err := t.Check(); err != nil {
		return err
	}
	if t.Handler == nil {
		return Errorf(CodeInvalidDefinition, "tool %q: the handler is nil", t.Name).
			Of(t.Name, "").At(callstage.Register).Try("give it a function")
	}
	if _, there := others[t.Name]; there {
		return Errorf(CodeAlreadyExists, "tool %q is defined twice", t.Name).
			Of(t.Name, "").At(callstage.Register).Because(ErrAlreadyExists).Try("rename one")
	}
	return nil
}

// edit publishes a changed copy of the tools, and tells the subscribers.
func (s *Set) edit(change func(next *setTools)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.tools()
	next := &setTools{slices.Clone(before.defs), maps.Clone(before.handlers), maps.Clone(before.previews)}
	if next.handlers == nil {
		next.handlers, next.previews = map[string]Handler{}, map[string]Handler{}
	}
	change(next)
	slices.SortFunc(next.defs, func(a, b Definition) int { return cmp.Compare(a.Name, b.Name) })
	s.now.Store(next)
	for _, c := range s.subscribers {
		select {
		case c <- struct{}{}:
		default: // one is there that has not been received
		}
	}
}

func (t *setTools) remove(gone func(name string) bool) {
	t.defs = slices.DeleteFunc(t.defs, func(d Definition) bool { return gone(d.Name) })
	drop := func(name string, _ Handler) bool { return gone(name) }
	maps.DeleteFunc(t.handlers, drop)
	maps.DeleteFunc(t.previews, drop)
}

// Changes implements [Notifier]. Each call returns a channel of its own.
func (s *Set) Changes() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := make(chan struct{}, 1)
	if s.closed {
		close(c)
	} else {
		s.subscribers = append(s.subscribers, c)
	}
	return c
}

// List implements [Provider].
func (s *Set) List(context.Context) ([]Definition, error) {
	defs := s.tools().defs
	out := make([]Definition, len(defs))
	for i, d := range defs {
		out[i] = d.Clone()
	}
	return out, nil
}

// Execute implements [Provider]. It calls handlers through [Protect].
func (s *Set) Execute(ctx context.Context, call Call) (Result, error) {
	h := s.tools().handlers[call.Name]
	if h == nil {
		return Result{}, Errorf(CodeNotFound, "Unknown tool: %s", call.Name).
			Of(call.Name, "").At(callstage.Resolve).Because(ErrNotFound)
	}
	return run(ctx, h, call)
}

// Preview implements [Previewer]. It calls previews through [Protect].
func (s *Set) Preview(ctx context.Context, call Call) (Result, error) {
	h := s.tools().previews[call.Name]
	if h == nil {
		return Result{}, NoPreview(call.Name)
	}
	return run(ctx, h, call)
}

func run(ctx context.Context, h Handler, call Call) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, ExecutionError(call.Name, err)
	}
	res, err := h(ctx, call)
	if err != nil {
		return Result{}, ExecutionError(call.Name, err)
	}
	return res, nil
}

// Close implements [Provider]. It closes the channels of Changes; the tools still serve, as a
// Set holds no other resources.
func (s *Set) Close(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, c := range s.subscribers {
		close(c)
	}
	s.subscribers = nil
	return nil
}

// Protect returns a handler that calls h and shields its caller from panics and malformed
// results. Content blocks that are pointers are replaced by the values they point to.
//
// # Errors
//
// [CodeToolFailed] for a panic: Message has the value of the panic, and Detail has the
// stack, which is for logs and not for models. [CodeToolFailed] also for a nil [*Error]
// returned as an error. [CodeInvalidResult] for a content block that is nil.
func Protect(h Handler) Handler {
	return func(ctx context.Context, call Call) (res Result, err error) {
		defer func() {
			if v := recover(); v != nil {
				res = Result{}
				err = &Error{
					Code: CodeToolFailed, Tool: call.Name, Stage: callstage.Execute,
					Message: fmt.Sprintf("panic: %v", v), Detail: string(debug.Stack()),
				}
			}
		}()
		res, err = h(ctx, call)
		if e, ok := err.(*Error); ok && e == nil { //nolint:errorlint // the pointer itself is meant
			return Result{}, Errorf(CodeToolFailed, "the handler's error is a nil *tool.Error").
				Of(call.Name, "").At(callstage.Execute).Try("declare the variable as an error; return nil for success")
		}
		if err != nil {
			return Result{}, err
		}
		return sound(call.Name, res)
	}
}

// sound returns r with pointers among its content blocks replaced by values. It does not
// change the handler's slice, and copies it only if a block must be replaced.
func sound(name string, r Result) (Result, error) {
	if !slices.ContainsFunc(r.Content, notValue) {
		r.Content = slices.Clip(r.Content) // an append by the caller makes a copy
		return r, nil
	}
	content := slices.Clone(r.Content)
	for i, c := range content {
		if content[i] = blockOf(c); content[i] == nil {
			return Result{}, Errorf(CodeInvalidResult, "content block %d is nil", i).
				Of(name, "").At(callstage.Execute).Try("leave it out")
		}
	}
	r.Content = content
	return r, nil
}
