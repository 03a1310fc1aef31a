package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
)

// Tool is a definition and the functions that implement it.
type Tool struct {
	Definition
	// Handler runs the tool. Required.
	Handler Handler `json:"-"`
	// Preview reports what a call would do; see [Previewer]. Nil: no preview.
	Preview Handler `json:"-"`
}

// Set is a [Provider] of functions in this process. Its tools do not change.
type Set struct {
	defs     []Definition
	handlers map[string]Handler
	previews map[string]Handler
}

var _ Previewer = (*Set)(nil)

// NewSet returns a provider of the given tools.
//
// # Errors
//
// [CodeInvalidDefinition] for a definition that [Definition.Check] refuses or a tool
// without a handler; [CodeAlreadyExists] for a second tool of the same name. The errors of
// all tools are joined; see [errors.Join].
func NewSet(tools ...Tool) (*Set, error) {
	s := &Set{handlers: make(map[string]Handler, len(tools)), previews: map[string]Handler{}}
	var faults []error
	for _, t := range tools {
		if err := t.Check(); err != nil {
			faults = append(faults, err)
			continue
		}
		if t.Handler == nil {
			faults = append(faults, &Error{
				Code: CodeInvalidDefinition, Tool: t.Name, Stage: StageRegister,
				Message: fmt.Sprintf("tool %q: the handler is nil", t.Name), Hint: "give it a function",
			})
			continue
		}
		if s.handlers[t.Name] != nil {
			faults = append(faults, &Error{
				Code: CodeAlreadyExists, Tool: t.Name, Stage: StageRegister,
				Message: fmt.Sprintf("tool %q is defined twice", t.Name), Hint: "rename one", Err: ErrAlreadyExists,
			})
			continue
		}
		s.handlers[t.Name] = Protect(t.Handler)
		if t.Preview != nil {
			s.previews[t.Name] = Protect(t.Preview)
		}
		s.defs = append(s.defs, t.Clone())
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	slices.SortFunc(s.defs, func(a, b Definition) int { return cmp.Compare(a.Name, b.Name) })
	return s, nil
}

// List implements [Provider].
func (s *Set) List(context.Context) ([]Definition, error) {
	out := make([]Definition, len(s.defs))
	for i, d := range s.defs {
		out[i] = d.Clone()
	}
	return out, nil
}

// Execute implements [Provider]. It calls handlers through [Protect].
func (s *Set) Execute(ctx context.Context, call Call) (Result, error) {
	h := s.handlers[call.Name]
	if h == nil {
		return Result{}, &Error{
			Code: CodeNotFound, Tool: call.Name, Stage: StageResolve,
			Message: "Unknown tool: " + call.Name, Err: ErrNotFound,
		}
	}
	return run(ctx, h, call)
}

// Previews reports whether any tool has a preview.
func (s *Set) Previews() bool { return len(s.previews) > 0 }

// Preview implements [Previewer]. It calls previews through [Protect].
func (s *Set) Preview(ctx context.Context, call Call) (Result, error) {
	h := s.previews[call.Name]
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

// Close implements [Provider]. It does nothing: a Set holds no resources.
func (s *Set) Close(context.Context) error { return nil }

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
					Code: CodeToolFailed, Tool: call.Name, Stage: StageExecute,
					Message: fmt.Sprintf("panic: %v", v), Detail: string(debug.Stack()),
				}
			}
		}()
		res, err = h(ctx, call)
		if e, ok := err.(*Error); ok && e == nil { //nolint:errorlint // the pointer itself is meant
			return Result{}, &Error{
				Code: CodeToolFailed, Tool: call.Name, Stage: StageExecute,
				Message: "the handler's error is a nil *tool.Error",
				Hint:    "declare the variable as an error; return nil for success",
			}
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
			return Result{}, &Error{
				Code: CodeInvalidResult, Tool: name, Stage: StageExecute,
				Message: fmt.Sprintf("content block %d is nil", i), Hint: "leave it out",
			}
		}
	}
	r.Content = content
	return r, nil
}
