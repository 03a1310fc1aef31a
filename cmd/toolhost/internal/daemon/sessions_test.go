package daemon

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A session without calls ends after its idle time, and one that is used does not. Sessions of
// the same name of two callers are two.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := require.Must(host.New(host.WithRoot(root)))(t)
		bounds := config.Sessions{IdleTime: time.Hour, Max: 2}
		s := newSessions(h, func() config.Sessions { return bounds })
		ann, bob := setup.CallerOf(config.Default(), "ann"), setup.CallerOf(config.Default(), "bob")
		ids := map[string]bool{}
		use := func(c setup.Caller, name string, d time.Duration) (begun bool) {
			t.Helper()
			one, begun, leave, err := s.join(c, name)
			require.NoError(t, err)
			if one.Caller().Name != c.Name() || ids[one.ID()] == begun {
				t.Errorf("%s joins session %s of %s, which is new: %v", c.Name(), one.ID(), one.Caller().Name, begun)
			}
			ids[one.ID()] = true
			time.Sleep(d) // the fake time of the bubble
			leave()
			return begun
		}
		if !use(ann, "work", 3*time.Hour) || !use(bob, "work", 0) || use(ann, "work", 0) {
			t.Error("each caller's session begins once")
		}
		time.Sleep(59 * time.Minute)
		synctest.Wait()
		if use(ann, "work", 0) || len(s.list("")) != 2 || len(s.list("ann")) != 1 {
			t.Errorf("before the idle time is over, there are %+v", s.list(""))
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if all := s.list(""); len(all) != 1 || all[0].Caller != "ann" {
			t.Errorf("after bob's session was idle for an hour, there are %+v", all)
		}
		if err := s.end("bob", "work"); tool.CodeOf(err) != tool.CodeNotFound {
			t.Errorf("bob ends a session of ann's: %v", err)
		}
		use(ann, "other", 0)
		if _, _, _, err := s.join(ann, "third"); tool.CodeOf(err) != tool.CodeResourceExhausted {
			t.Errorf("a third session of two: %v", err)
		}
		for i := range 2 {
			use(bob, fmt.Sprint(i), 0)
		}
		if err := s.end("ann", "work"); err != nil || !use(ann, "work", 0) {
			t.Errorf("after its end, the session begins again: %v", err)
		}
		bounds.IdleTime = 0
		use(ann, "work", 0)
		time.Sleep(1000 * time.Hour)
		synctest.Wait()
		if all := s.list(""); len(all) != 1 || all[0].Name != "work" {
			t.Errorf("without an idle time, there are %+v", all)
		}
		s.close()
		assert.NoError(t, h.Close(t.Context()))
	})
}
