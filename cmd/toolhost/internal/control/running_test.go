package control

import (
	"context"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// A call is answered and canceled by the caller that made it, even if another knows its ID.
func TestCallsAreTheirCallers(t *testing.T) {
	t.Parallel()
	s := &Server{calls: map[string]*runningCall{}}
	as := func(name string) context.Context {
		return context.WithValue(t.Context(), requestKey{}, &request{caller: Caller{Name: name}})
	}
	run := newRunningCall(as("alice"), s, nil)
	defer run.cancel(nil)
	require.NoError(t, s.addCall(run))
	for name, want := range map[string]bool{"alice": true, "bob": false, "": false} {
		if got, err := s.runningCall(as(name), run.id); (got == run) != want || (err == nil) != want {
			t.Errorf("the call for %q: %v, %v", name, got, err)
		}
	}
}
