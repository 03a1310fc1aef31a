package fleet_test

import (
	"context"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// When a host is missed, after its last word, in a small fleet. It is gone after 3.1 s at the earliest, and
// when the question that is open then has had its time.
const (
	asked      = 1100 * time.Millisecond // it is asked
	lateAfter  = asked + 500*time.Millisecond
	goneAfter  = asked + 4*500*time.Millisecond + 3*125*time.Millisecond
	backAfter  = 3400 * time.Millisecond // at most, after it is in reach again
	unnotified = 100 * time.Millisecond  // at most, until the registry is told
	unheard    = 5100 * time.Millisecond // at most, until a call ends of a host that is heard and does not hear
	moment     = 5 * time.Millisecond    // how exactly is looked
)

// watched is a host b, at a proxy, that has a call of a, and a host c.
type watched struct {
	*node

	p     *proxy
	said  time.Time // when b was heard of last
	ended chan error
}

func watch(t *testing.T, s *site) *watched {
	t.Helper()
	w := &watched{p: s.proxied(t), ended: make(chan error, 1)}
	begun := make(chan struct{})
	waits := handler("waits", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		close(begun)
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	})
	join(t, s.config("b", share("*"), at(w.p)), says("only.b", "b"), waits)
	join(t, s.config("c", share("*")), says("only.c", "c"))
	w.node = join(t, s.config("a", mount("*")))
	w.shared(t, "only.b", 1, 1)
	w.shared(t, "only.c", 1, 1)
	go func() {
		_, err := w.Execute(t.Context(), tool.Call{Name: "waits"})
		w.ended <- err
	}()
	<-begun
	for _, h := range w.Hosts() {
		if h.Name == "b" {
			w.said = time.Now().Add(-h.Heard)
		}
	}
	return w
}

// since fails unless it is so long after the host's last word.
func (w *watched) since(t *testing.T, what string, want time.Duration) {
	t.Helper()
	if got := time.Since(w.said); got < want || got > want+moment {
		t.Errorf("it is %s after %v, not %v", what, got, want)
	}
}

// goes waits until b is gone, which happens in time, and with it its tools and calls; calls of c go on meanwhile.
func (w *watched) goes(t *testing.T, after time.Duration) {
	t.Helper()
	for w.state("b") != "" && time.Since(w.said) < require.Ceiling {
		begin := time.Now()
		if got := w.text(t, "only.c"); got != "c" || time.Since(begin) > 0 {
			t.Fatalf("another host answers %q after %v", got, time.Since(begin))
		}
		time.Sleep(moment)
	}
	w.since(t, "gone", after)
	w.loses(t)
	w.since(t, "without its call", after)
	require.Eventually(t, "its tools to be gone", func() bool { return !w.has("only.b") })
	w.since(t, "without its tools", after+unnotified)
	if _, err := w.Execute(t.Context(), tool.Call{Name: "only.b"}); tool.CodeOf(err) != tool.CodeNotFound {
		t.Errorf("%v", err)
	}
}

// loses waits for the end of the call.
func (w *watched) loses(t *testing.T) {
	t.Helper()
	err := <-w.ended
	if e := tool.AsError(err); e == nil || e.Code != tool.CodeUnavailable || e.Unsent {
		t.Errorf("its call: %v", err)
	}
}

// returns waits until b is back.
func (w *watched) returns(t *testing.T) {
	t.Helper()
	begin := time.Now()
	require.Eventually(t, "the host to be back", func() bool { return w.state("b") == fleet.HostReady && w.has("only.b") })
	if took := time.Since(begin); took > backAfter {
		t.Errorf("it is back after %v", took)
	}
	assert.Equal(t, w.text(t, "only.b"), "b")
}

// A host is cut off, in both directions or in one, and comes back. One that is heard is not gone, but the call is
// that nothing is heard of.
func TestHostOutOfReach(t *testing.T) { //nolint:paralleltest // bubbles are alone
	for name, cut := range map[string]struct{ to, from bool }{ //nolint:paralleltest // as above
		"both directions": {true, true}, "to the host": {true, false}, "from the host": {false, true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *site) {
				w := watch(t, s)
				w.p.lose(func(toServer bool, _ string) bool { return toServer && cut.from || !toServer && cut.to })
				if !cut.from {
					w.loses(t)
					if took := time.Since(w.said); took > unheard || w.state("b") != fleet.HostReady {
						t.Errorf("the call ends after %v, and the host is %s", took, w.state("b"))
					}
				} else {
					require.Eventually(t, "the host to be late", func() bool { return w.state("b") == fleet.HostLate })
					w.since(t, "late", lateAfter)
					w.goes(t, goneAfter)
				}
				w.p.lose(nil)
				w.returns(t)
			})
		})
	}
}
