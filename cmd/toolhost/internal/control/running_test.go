package control

import (
	"context"
	"net/http"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// A call is answered and canceled by the caller that made it, even if another knows its ID.
func TestCallsAreTheirCallers(t *testing.T) {
	t.Parallel()
	s := &Server{calls: map[string]*runningCall{}}
	as := func(name string) *http.Request {
		ctx := context.WithValue(t.Context(), callerKey{}, Caller{Name: name})
		return (&http.Request{}).WithContext(ctx)
	}
	run := newRunningCall(s, as("alice"), nil)
	defer run.cancel(nil)
	require.NoError(t, s.addCall(run))
	for name, want := range map[string]bool{"alice": true, "bob": false, "": false} {
		r := as(name)
		r.SetPathValue("id", run.id)
		if got, err := s.runningCall(r); (got == run) != want || (err == nil) != want {
			t.Errorf("the call for %q: %v, %v", name, got, err)
		}
	}
}
