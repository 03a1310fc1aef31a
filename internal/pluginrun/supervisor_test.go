package pluginrun

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// crasher is a supervisor of a plugin whose every run ends a millisecond after it was
// started, with a status.
func crasher(t *testing.T, exit plugin.ExitError, policy plugin.RestartPolicy) *supervisor {
	t.Helper()
	s := &supervisor{
		name: "crasher", cfg: Config{}.withDefaults(), backoff: backoff{policy: restartPolicy(policy)},
		publish: func(*instance) bool { return false },
	}
	s.life, s.endLife = context.WithCancel(t.Context())
	s.launch = func(context.Context) (*instance, error) {
		run := &instance{proc: talker(io.Discard), since: time.Now(), published: make(chan struct{})}
		run.link = &protocolLink{run: run, proc: run.proc}
		time.AfterFunc(time.Millisecond, func() { run.proc.finish(&exit, time.Now()) })
		return run, nil
	}
	return s
}

// A run has lasted as long as it ran, whenever the end is noticed: a plugin that crashes in
// each call and is called less often than RestartPolicy.Lasting is quarantined all the
// same. Reading the status changes nothing.
func TestCrashesCountWheneverTheyAreNoticed(t *testing.T) {
	t.Parallel()
	for name, looks := range map[string]int{"unnoticed": 0, "status is read": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const lasting = 10 * time.Second
				s := crasher(t, plugin.ExitError{Code: 3}, plugin.RestartPolicy{
					Free: 1, Backoff: time.Millisecond, Quarantine: 3, Cooldown: time.Hour, Lasting: lasting,
				})
				for i := range 3 {
					run, err := s.ready(t.Context())
					if err != nil {
						t.Fatalf("call %d: %v", i, err)
					}
					<-run.proc.exited
					if s.current.Load() != nil {
						t.Fatal("calls go to a run that has ended")
					}
					<-time.After(2 * lasting)
					for range looks {
						s.addTo(&plugin.Status{State: plugin.Idle})
					}
				}
				if _, err := s.ready(t.Context()); tool.CodeOf(err) != tool.CodeUnavailable {
					t.Errorf("after three crashes: %v", err)
				}
				status := plugin.Status{State: plugin.Idle}
				s.addTo(&status)
				if status.State != plugin.Quarantined || status.Starts != 3 || s.backoff.failures != 3 {
					t.Errorf("%+v after %d failures", status, s.backoff.failures)
				}
			})
		})
	}
}

// A run that lasted is forgiven the failures before it; one that the host ended, or that
// ended as if something had asked it to, does not count as a failure.
func TestEndsThatDoNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := crasher(t, plugin.ExitError{}, plugin.RestartPolicy{})
		for range 5 {
			run := require.Must(s.ready(t.Context()))(t)
			<-run.proc.exited
		}
		if s.backoff.failures != 0 {
			t.Errorf("%d failures of a plugin that ended in good order", s.backoff.failures)
		}

		s = crasher(t, plugin.ExitError{Code: 3}, plugin.RestartPolicy{Lasting: time.Millisecond})
		for range 5 {
			run := require.Must(s.ready(t.Context()))(t)
			run.onAnswer()
			<-run.proc.exited
		}
		if s.backoff.failures != 1 {
			t.Errorf("%d failures of a plugin that lasts, want 1", s.backoff.failures)
		}

		s = crasher(t, plugin.ExitError{Code: -1, Signal: "SIGKILL"}, plugin.RestartPolicy{})
		run := require.Must(s.ready(t.Context()))(t)
		s.mu.Lock()
		s.detach(run, "")
		s.mu.Unlock()
		<-run.proc.exited
		if s.backoff.failures != 0 {
			t.Errorf("%d failures of a plugin that the host ended", s.backoff.failures)
		}
	})
}

// A run that never answered a call was not well, however long it ran: a plugin that crashes
// in each call reaches quarantine, even if each call takes longer than
// RestartPolicy.Lasting.
func TestRunsThatNeverAnswerAreNotWell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := crasher(t, plugin.ExitError{Code: 3}, plugin.RestartPolicy{
			Free: 1, Backoff: time.Microsecond, Quarantine: 3, Cooldown: time.Hour, Lasting: time.Millisecond,
		})
		for i := range 3 {
			run, err := s.ready(t.Context())
			if err != nil {
				t.Fatalf("call %d: %v", i, err)
			}
			<-run.proc.exited
		}
		if _, err := s.ready(t.Context()); tool.CodeOf(err) != tool.CodeUnavailable || s.backoff.failures != 3 {
			t.Errorf("after %d failures: %v", s.backoff.failures, err)
		}
	})
}

// A plugin that comes out of quarantine and is well stays out of it, though the run that
// showed it ends: for idleness, or as it was asked to.
func TestQuarantineEndsWithARunThatIsWell(t *testing.T) {
	t.Parallel()
	for name, lasting := range map[string]time.Duration{"lasts": time.Millisecond, "is used shortly": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				exit := plugin.ExitError{Code: 3}
				s := crasher(t, exit, plugin.RestartPolicy{Free: 1, Backoff: 1, Quarantine: 2, Cooldown: time.Minute, Lasting: lasting})
				end := func(run *instance, err error) {
					t.Helper()
					require.NoError(t, err)
					<-run.proc.exited
				}
				end(s.ready(t.Context()))
				end(s.ready(t.Context()))
				<-time.After(2 * time.Minute) // longer than the cooldown
				probe := require.Must(s.ready(t.Context()))(t)
				probe.onAnswer()
				s.mu.Lock()
				s.detach(probe, "") // as the end of an idle run begins
				s.mu.Unlock()
				end(probe, nil)
				if lasting < time.Hour && s.backoff.failures != 0 {
					t.Errorf("%d failures of a plugin that is well", s.backoff.failures)
				}
				end(s.ready(t.Context()))
			})
		})
	}
}

// A process that ends before its start is recorded takes no calls, and its end counts.
func TestEndBeforeItsStartIsRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := crasher(t, plugin.ExitError{Code: 3}, plugin.RestartPolicy{})
		launch := s.launch
		s.launch = func(ctx context.Context) (*instance, error) {
			run, err := launch(ctx)
			<-run.proc.exited
			return run, err
		}
		run, err := s.ready(t.Context())
		if err != nil || run.end == nil || s.current.Load() != nil || s.backoff.failures != 1 {
			t.Errorf("%v, %v, current %v, %d failures", run, err, s.current.Load(), s.backoff.failures)
		}
	})
}

// Spares that end at once are made as starts are paced, whatever the policy, and the run that serves goes
// on.
func TestSparesArePaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := crasher(t, plugin.ExitError{Code: 1}, plugin.RestartPolicy{Free: -1})
		ends, made := s.launch, 0
		s.cfg.Spare = 1
		s.spares.backoff.policy = restartPolicy(plugin.RestartPolicy{})
		s.spares.launch = func(ctx context.Context) (*instance, error) {
			made++
			run, err := ends(ctx)
			run.spare = true
			return run, err
		}
		s.launch = func(context.Context) (*instance, error) {
			run := &instance{proc: talker(io.Discard), since: time.Now(), published: make(chan struct{})}
			run.link = &protocolLink{run: run, proc: run.proc}
			return run, nil
		}
		serves, err := s.ready(t.Context())
		require.NoError(t, err)
		time.Sleep(time.Hour)
		synctest.Wait()
		s.mu.Lock()
		if made < restartPolicy(plugin.RestartPolicy{}).Quarantine || made > 30 || !s.isCurrent(serves) || s.crashes != 0 || s.starts != 1 {
			t.Errorf("%d spares in an hour, %d crashes, %d starts", made, s.crashes, s.starts)
		}
		s.closed = true
		s.mu.Unlock()
		s.endLife()
		serves.proc.finish(&plugin.ExitError{}, time.Now())
	})
}
