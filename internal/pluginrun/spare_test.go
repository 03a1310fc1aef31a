package pluginrun_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// spared starts a plugin with a spare, and returns the numbers of both processes.
func spared(t *testing.T, own ...func(*pluginrun.Config)) (p *pluginrun.Plugin, serves, spare int) {
	t.Helper()
	p = open(t, plugintest.Crasher, append([]func(*pluginrun.Config){func(c *pluginrun.Config) {
		c.Spare, c.StartTimeout, c.Restart.Free = 1, ceiling, -1
	}}, own...)...)
	serves = pid(t, p)
	return p, serves, warm(t, p, 0)
}

// warm waits for a spare that is not the one before.
func warm(t *testing.T, p *pluginrun.Plugin, before int) (spare int) {
	t.Helper()
	require.Eventually(t, "a spare is warm", func() bool {
		spare = p.Status().Spare
		return spare != 0 && spare != before
	})
	return spare
}

func kill(t *testing.T, pid int) {
	t.Helper()
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
}

func gone(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, "the spare has ended", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
}

// answering calls until a call is answered, and returns by which process.
func answering(t *testing.T, p *pluginrun.Plugin) int {
	t.Helper()
	for {
		_, err := p.Execute(t.Context(), tool.Call{Name: "crash.pid", Arguments: []byte("{}")})
		if err == nil {
			return pid(t, p)
		}
		if code := tool.CodeOf(err); code != tool.CodeCrashed {
			t.Fatal(err)
		}
	}
}

func TestSpareTakesOver(t *testing.T) {
	t.Parallel()
	p, serves, spare := spared(t)
	if s := p.Status(); s.PID != serves || s.Starts != 1 || s.Crashes != 0 {
		t.Errorf("with a spare: %+v", s)
	}
	for range 3 {
		kill(t, serves)
		if got := answering(t, p); got != spare {
			t.Errorf("process %d answers, and the spare was %d", got, spare)
		}
		serves, spare = spare, warm(t, p, spare)
	}
	if s := p.Status(); s.PID != serves || s.Starts != 4 || s.Crashes != 3 {
		t.Errorf("after three crashes: %+v", s)
	}
}

// The next spare is made as starts are paced, and the process that serves does not notice.
func TestSpareThatEndsIsNoCrash(t *testing.T) {
	t.Parallel()
	p, serves, spare := spared(t)
	for range 2 {
		kill(t, spare)
		spare = warm(t, p, spare)
	}
	if s := p.Status(); s.PID != serves || s.State != plugin.Ready || s.Starts != 1 || s.Crashes != 0 {
		t.Errorf("after two spares have ended: %+v", s)
	}
}

// A spare ends with the plugin, in whatever way.
func TestSpareEndsWithThePlugin(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *pluginrun.Plugin){
		"restart": func(t *testing.T, p *pluginrun.Plugin) { require.NoError(t, p.Restart(t.Context())) },
		"refuse":  func(_ *testing.T, p *pluginrun.Plugin) { p.Refuse(errors.New("not wanted")) },
		"close":   func(t *testing.T, p *pluginrun.Plugin) { require.NoError(t, p.Close(t.Context())) },
		"upgrade": func(t *testing.T, p *pluginrun.Plugin) {
			require.NoError(t, p.HandOver(t.Context(), open(t, plugintest.Crasher)))
		},
		"crash of one that was not called": func(t *testing.T, p *pluginrun.Plugin) {
			s := p.Status()
			kill(t, s.PID)
			require.Eventually(t, "the spare serves", func() bool { return p.Status().PID == s.Spare })
			next := warm(t, p, s.Spare)
			kill(t, s.Spare)
			gone(t, next)
			if s := p.Status(); s.State != plugin.Idle || s.Starts != 2 {
				t.Errorf("nothing has called, and %+v", s)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _, spare := spared(t)
			end(t, p)
			gone(t, spare)
			if s := p.Status(); s.Spare != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		p, _, spare := spared(t, func(c *pluginrun.Config) { c.IdleTimeout = time.Second })
		gone(t, spare)
		require.Eventually(t, "it is idle", func() bool { return p.Status().State == plugin.Idle })
	})
	t.Run("host ends while it is started", func(t *testing.T) {
		t.Parallel()
		p := open(t, plugintest.Crasher, func(c *pluginrun.Config) { c.Spare = 1 })
		pid(t, p)
		require.NoError(t, p.Close(t.Context()))
	})
}

// What is not as a process would be that was started now does not take over.
func TestSpareOfOtherThings(t *testing.T) {
	t.Parallel()
	type world struct {
		refuse    atomic.Bool
		asked     atomic.Int64 // for spares
		protected atomic.Pointer[[]string]
	}
	for name, change := range map[string]func(*testing.T, *pluginrun.Plugin, *world){
		"binary": func(t *testing.T, p *pluginrun.Plugin, _ *world) {
			path := p.Status().Path
			next := filepath.Join(t.TempDir(), "next")
			require.NoError(t, os.WriteFile(next, require.Must(os.ReadFile(path))(t), 0o700))
			require.NoError(t, os.Rename(next, path))
		},
		"admission": func(_ *testing.T, _ *pluginrun.Plugin, w *world) { w.refuse.Store(true) },
		"protected": func(_ *testing.T, _ *pluginrun.Plugin, w *world) { w.protected.Store(&[]string{"/one", "/two"}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w world
			w.protected.Store(&[]string{"/one"})
			p, serves, spare := spared(t, func(c *pluginrun.Config) {
				c.Protected = func() []string { return *w.protected.Load() }
				c.Admit = func(spare bool) error {
					if spare {
						w.asked.Add(1)
					} else if w.refuse.Swap(false) {
						return errors.New("not as it was")
					}
					return nil
				}
			})
			change(t, p, &w)
			kill(t, serves)
			if got := answering(t, p); got == spare {
				t.Error("the old spare answers")
			}
			gone(t, spare)
			if w.asked.Load() == 0 {
				t.Error("a spare was started unasked")
			}
		})
	}
}

// Kills under load cost the calls that are under way, and no other.
func TestSpareUnderLoad(t *testing.T) {
	t.Parallel()
	p, serves, spare := spared(t)
	const callers, kills = 8, 5
	var lost atomic.Int64
	var all sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for range callers {
		all.Go(func() {
			for ctx.Err() == nil {
				_, err := p.Execute(t.Context(), tool.Call{Name: "crash.pid", Arguments: []byte("{}")})
				switch {
				case err == nil:
				case tool.CodeOf(err) != tool.CodeCrashed:
					t.Error(err)
				default:
					lost.Add(1)
				}
			}
		})
	}
	for range kills {
		kill(t, serves)
		require.Eventually(t, "the spare serves", func() bool { return p.Status().PID == spare })
		serves, spare = spare, warm(t, p, spare)
	}
	stop()
	all.Wait()
	if n := lost.Load(); n > callers*kills*2 { // a call may be sent to what is ending
		t.Errorf("%d calls were lost", n)
	}
	if s := p.Status(); s.Starts != kills+1 || s.Crashes != kills {
		t.Errorf("%+v", s)
	}
}
