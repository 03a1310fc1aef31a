package host_test

import (
	"context"
	"slices"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// remembering is a provider that keeps state for sessions.
type remembering struct {
	tool.Provider
	ended func(session string)
	_     []int // it cannot be compared
}

func (r remembering) EndSession(session string) { r.ended(session) }

// An attached provider is told of the end of a session that has called it, once, when its calls have
// ended too, and whatever it does then is its own affair.
func TestAttachedProviderIsToldOfSessions(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	begun, release := make(chan struct{}), make(chan struct{})
	wait := echo("wait")
	wait.Handler = func(context.Context, tool.Call) (tool.Result, error) {
		close(begun)
		<-release
		return tool.Text("waited"), nil
	}
	var told []string
	provider := remembering{
		Provider: require.Must(tool.NewSet(echo("quick"), wait))(t),
		ended: func(session string) {
			told = append(told, session)
			panic("it forgot how")
		},
	}
	require.Must(h.Attach(t.Context(), "far", provider))(t)
	call := tool.Call{Name: "quick", Arguments: []byte(`{"text":"x"}`)}
	one, two, never := h.Session(), h.Session(), h.Session()
	for _, s := range []interface {
		Call(context.Context, tool.Call) host.Outcome
	}{one, one.With(), two, h} {
		if out := s.Call(t.Context(), call); !out.Success {
			t.Fatalf("%+v", out)
		}
	}
	if got := one.Plugins(); !slices.Equal(got, []string{"far"}) || len(never.Plugins()) > 0 {
		t.Errorf("state is kept by %q and %q", got, never.Plugins())
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		one.Call(context.Background(), tool.Call{Name: "wait", Arguments: []byte(`{"text":"x"}`)})
	}()
	<-begun
	_ = never.Close(t.Context())
	_ = one.Close(t.Context())
	if len(told) > 0 {
		t.Errorf("told of %q while a call runs", told)
	}
	close(release)
	<-ended
	_ = one.Close(t.Context())
	if !slices.Equal(told, []string{one.ID()}) {
		t.Errorf("told of %q, want %q", told, one.ID())
	}
	require.NoError(t, h.Detach(t.Context(), "far"))
	_ = two.Close(t.Context())
	if len(told) > 1 {
		t.Errorf("told of %q after it was detached", told[1:])
	}
}
