package wire

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// An error has the same code, text, hint, time to wait and sentinels on both sides of the boundary, on
// each carrier, bare and wrapped. Codes that only a host gives, and those that no one knows, become
// tool_failed.
func TestErrorsKeepTheirCode(t *testing.T) {
	t.Parallel()
	codes := map[tool.Code]tool.Code{
		tool.CodeApprovalDenied: tool.CodeToolFailed, tool.CodeApprovalRequired: tool.CodeToolFailed,
		tool.CodeCrashed: tool.CodeToolFailed, tool.CodeInvalidDefinition: tool.CodeToolFailed,
		"of_tomorrow": tool.CodeToolFailed, "": tool.CodeToolFailed,
	}
	for _, c := range []tool.Code{
		tool.CodeInvalidArguments, tool.CodePermissionDenied, tool.CodeRateLimited, tool.CodeUnavailable,
		tool.CodeDeadlineExceeded, tool.CodeCanceled, tool.CodeResourceExhausted, tool.CodeNotFound, tool.CodeAlreadyExists,
		tool.CodeInvalidResult, tool.CodeToolFailed, tool.CodeUnsupported, tool.CodeInternal,
	} {
		codes[c] = c
	}
	var tools []tool.Tool
	add := func(name string, err error) {
		tools = append(tools, tool.Tool{
			Definition: tool.Definition{Name: name, Description: "Fails."},
			Handler:    func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, err },
		})
	}
	wants := map[string]tool.Code{"plain": tool.CodeToolFailed, "canceled": tool.CodeCanceled, "late": tool.CodeDeadlineExceeded}
	add("plain", errors.New("broken"))
	add("canceled", fmt.Errorf("inner: %w", context.Canceled))
	add("late", context.DeadlineExceeded)
	for code, want := range codes {
		e := &tool.Error{Code: code, Message: "broken", Hint: "mend it", RetryAfter: tool.Duration(1500 * time.Millisecond)}
		bare, wrapped := "bare."+string(code)+".", "wrapped."+string(code)+"."
		add(bare, e)
		add(wrapped, fmt.Errorf("while mending: %w", e))
		wants[bare], wants[wrapped] = want, want
	}
	set := require.Must(tool.NewSet(tools...))(t)
	g := newGRPCServer(nil)
	Register(g, &Server{Provider: set})
	across := map[string]tool.Provider{"unary": &unaryProvider{NewClient(dialTo(t, g)), set}}
	for _, carrier := range carriers {
		across[carrier] = serve(t, carrier, set, StreamHooks{})
	}
	for carrier, p := range across {
		for name, want := range wants {
			_, here := set.Execute(t.Context(), tool.Call{Name: name})
			_, there := p.Execute(t.Context(), tool.Call{Name: name})
			var h, e *tool.Error
			if !errors.As(here, &h) || !errors.As(there, &e) || e.Code != want || e.Hint != h.Hint || e.RetryAfter != h.RetryAfter ||
				e.Error() != h.Error() || !errors.Is(there, ErrClaimed) {
				t.Errorf("%s %s: %+v, in process %+v; want %s", carrier, name, e, h, want)
				continue
			}
			for _, s := range []error{tool.ErrNotFound, tool.ErrAlreadyExists, context.Canceled, context.DeadlineExceeded} {
				if errors.Is(here, s) != errors.Is(there, s) {
					t.Errorf("%s %s: is %v: %v, in process %v", carrier, name, s, errors.Is(there, s), errors.Is(here, s))
				}
			}
		}
	}
	// And the other way: what keeps a host from answering a question.
	for code := range codes {
		_, answer, err := parseAnswer(encodeAnswer(1, tool.Answer{}, &tool.Error{Code: code, Message: "broken", Hint: "mend it"}))
		var e *tool.Error
		if err != nil || !errors.As(answer.err, &e) || e.Code != code || e.Message != "broken" || e.Hint != "mend it" {
			t.Errorf("an answer with %q: %+v, %v", code, answer, err)
		}
	}
}

// unaryProvider is a provider whose calls are unary.
type unaryProvider struct {
	*Client
	tool.Provider
}

func (u *unaryProvider) Execute(ctx context.Context, c tool.Call) (tool.Result, error) {
	return u.Client.Execute(ctx, c)
}

// The ends of sessions come one after the other, in order; a function that panics or hangs harms
// neither calls nor what comes after.
func TestSessionEnds(t *testing.T) {
	t.Parallel()
	ended, let := make(chan string, 4*maxEnded), make(chan struct{})
	server := &Server{Provider: handlers{"echo": echo}, OnSessionEnded: func(_ context.Context, session string) {
		if ended <- session; session == "panics" {
			panic("broken")
		}
		<-let
	}}
	a, b := socketPair(t)
	go func() { _ = server.Serve(context.Background(), NewSocket(b)) }()
	s := NewStream(NewSocket(a), StreamHooks{})
	t.Cleanup(func() { _ = s.Close() })
	for _, session := range []string{"panics", "one", "tw\\xffo"} {
		s.EndSession(session)
	}
	for range 3 * maxEnded { // more than are kept
		s.EndSession("many")
	}
	wantText(t, within(t, "a call", begin(t.Context(), s, tool.Call{Name: "echo", Arguments: []byte("on")})), "on")
	close(let)
	for _, want := range []string{"panics", "one", "tw\\xffo", "many"} {
		if got := within(t, "the end of a session", ended); got != want {
			t.Errorf("%q ends, want %q", got, want)
		}
	}
	s.EndSession(string(make([]byte, maxFrame)))
	wantText(t, within(t, "a call", begin(t.Context(), s, tool.Call{Name: "echo", Arguments: []byte("on")})), "on")
}
