package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/hostile"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// endless is an attacker whose call does not end by itself.
func endless(mode plugintest.Mode) attack {
	return attack{
		mode: mode, on: everyCarrier, patience: time.Second,
		fault: "gave up waiting",
		call:  &fault{code: tool.CodeDeadlineExceeded, texts: []string{"gave up waiting for the plugin to run"}, words: true},
	}
}

// crashed is one that ends in the call.
func crashed(mode plugintest.Mode, how string) attack {
	return attack{
		mode: mode, on: everyCarrier, reason: "the last run ended: " + how,
		call: &fault{code: tool.CodeCrashed, texts: []string{"plugin " + string(mode) + " crashed while it ran", how}, words: true},
	}
}

func TestHostileLiveness(t *testing.T) { //nolint:paralleltest // it counts
	together(t, 8, []attack{
		stopped(),
		endless(hostile.Stubborn),
		endless(hostile.Silence),
		endless(hostile.Chatter),
		endless(hostile.Trickle),
		// The operator's own limit holds where the caller has all the time there is.
		{
			mode: hostile.Silence, name: "timeout", on: everyCarrier,
			opts: []host.Option{host.WithOverrides(map[string]host.Override{hostile.Tool: {Timeout: time.Second}})},
			call: &fault{code: tool.CodeDeadlineExceeded},
		},
		crashed(hostile.Panic, "exit status 2"),
		crashed(hostile.Exit, "exit status 3"),
		crashed(hostile.Segfault, "killed by SIGSEGV"),
		aboutCarriers(crashed(hostile.HangUp, "killed by SIGKILL by the host: the connection was gone")),
		degraded(hostile.NoHealth, "no health check"),
		degraded(hostile.Sick, "the health service says"),
		{mode: hostile.NoShutdown, on: everyCarrier},
	})
}

// stopped is one that stops in the call, as SIGSTOP does.
func stopped() attack {
	a := endless(hostile.Silence)
	a.name, a.uncalled, a.patience, a.fault = "stopped", true, 3*time.Second, ""
	a.then = func(t *testing.T, s *scene) {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.call(t)
		}()
		require.Eventually(t, "the call has come", func() bool { return s.logged.says(`now I will do it`) })
		assert.NoError(t, syscall.Kill(s.number(t), syscall.SIGSTOP))
		<-ended
		s.becomes(t, plugin.Degraded, "no health check")
	}
	return a
}

// degraded is one whose health is asked for when it did not answer a call, and that
// is well again when it answers the next.
func degraded(mode plugintest.Mode, why string) attack {
	a := endless(mode)
	a.args = `{"silent":true}`
	a.then = func(t *testing.T, s *scene) {
		s.becomes(t, plugin.Degraded, why)
		s.attack.args, s.attack.call = "", nil
		s.call(t)
		s.becomes(t, plugin.Ready, "")
	}
	return a
}

// becomes waits for an operator to see a state of the attacker, and its reason.
func (s *scene) becomes(t *testing.T, state plugin.State, why string) {
	t.Helper()
	require.Eventually(t, fmt.Sprintf("it is %s as %s", state, why), func() bool {
		return slices.ContainsFunc(s.Plugins(), func(p plugin.Status) bool {
			return p.Name == s.owner && p.State == state && strings.Contains(p.Reason, why)
		})
	})
}

// Calls under way when the process is killed end once each, as crashed. Those of
// a tool that may be repeated are, and no others: the plugin's own ledger says so.
func TestHostileKill(t *testing.T) { //nolint:paralleltest // it counts
	kill := attack{mode: hostile.Ledger, on: everyCarrier, each: true, uncalled: true, within: 2 * time.Second}
	kill.then = func(t *testing.T, s *scene) {
		const calls = 100
		errs := map[string]chan error{hostile.LedgerOnce: make(chan error, calls), hostile.LedgerSafe: make(chan error, calls)}
		for i := range calls {
			name := hostile.LedgerOnce
			if i%2 == 0 {
				name = hostile.LedgerSafe
			}
			go func() {
				_, err := s.Execute(t.Context(), tool.Call{Name: name})
				errs[name] <- err
			}()
		}
		require.Eventually(t, "all calls have come", func() bool { return len(s.ledger()) == calls })
		require.NoError(t, syscall.Kill(s.number(t), syscall.SIGKILL))
		begin := time.Now()
		for range calls / 2 {
			for _, e := range faultsOf(<-errs[hostile.LedgerOnce]) {
				s.check(t, e, &fault{code: tool.CodeCrashed, texts: []string{"killed by SIGKILL"}})
			}
			if err := <-errs[hostile.LedgerSafe]; err != nil {
				t.Errorf("a tool that may be repeated: %v", err)
			}
		}
		s.inTime(t, "ending the calls", begin)
		runs := map[string]int{}
		for _, line := range s.ledger() {
			runs[line]++
		}
		for line, n := range runs {
			if most := map[string]int{hostile.LedgerOnce: 1, hostile.LedgerSafe: 2}[strings.Fields(line)[0]]; n > most {
				t.Errorf("%s ran %d times", line, n)
			}
		}
		if len(runs) != calls {
			t.Errorf("%d calls ran, want %d", len(runs), calls)
		}
	}
	together(t, 3, []attack{kill})
}

// ledger are the lines that the attacker has written down.
func (s *scene) ledger() []string {
	b, _ := os.ReadFile(filepath.Join(s.root, "ledger"))
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// number is the attacker's process number, as the host has it: in a PID namespace
// its own is another.
func (s *scene) number(t *testing.T) int {
	t.Helper()
	for _, p := range s.Plugins() {
		if p.Name == s.owner {
			return p.PID
		}
	}
	t.Fatal("the attacker has no process")
	return 0
}

// Closing, calling, loading, reloading and crashing at once ends, and every call with it.
func TestHostileEverythingAtOnce(t *testing.T) { //nolint:paralleltest // it counts
	before := measure()
	for _, carrier := range everyCarrier { //nolint:paralleltest // it counts
		t.Run(string(carrier), func(t *testing.T) {
			dir := plugintest.Dir(t, plugintest.Crasher, plugintest.Fixture)
			h, err := host.New(host.WithRoot(t.TempDir()), host.WithDefaults(func(all *plugin.Settings) {
				all.StartTimeout = ceiling
				all.Carrier = carrier
			}))
			require.NoError(t, err)
			require.Must(h.Load(t.Context(), dir))(t)
			crash := tool.Call{Name: "crash.exit", Arguments: json.RawMessage(`{"code":1}`)}
			wait, echo := tool.Call{Name: "crash.wait"}, tool.Call{Name: "test.echo", Arguments: json.RawMessage(`{"text":"x"}`)}
			done := make(chan string)
			running := 0
			loop := func(times int, f func()) {
				running++
				go func() {
					for range times {
						f()
					}
					done <- ""
				}()
			}
			for range 4 {
				for _, call := range []tool.Call{crash, wait, echo} {
					loop(5, func() {
						ctx, cancel := context.WithTimeout(t.Context(), ceiling)
						defer cancel()
						if _, err := h.Execute(ctx, call); err != nil && (len(faultsOf(err)) != 1 || tool.CodeOf(err) == tool.CodeDeadlineExceeded) {
							t.Errorf("%s ended with %v", call.Name, err)
						}
					})
				}
			}
			loop(10, func() { _, _ = h.Load(t.Context(), dir) })
			var reloads atomic.Int64
			loop(5, func() {
				n := reloads.Add(1)
				require.NoError(t, h.Reconfigure(host.WithPluginSettings(func(_ string, s *plugin.Settings) { s.Env = []string{fmt.Sprint("RELOAD=", n)} })))
				_ = h.Sync(t.Context(), dir)
				if err := h.Reconfigure(host.WithOverrides(map[string]host.Override{"crash.wait": {MaxRetries: new(int), Timeout: time.Duration(n) * time.Hour}})); err != nil {
					t.Errorf("Reconfigure: %v", err)
				}
			})
			loop(10, func() { h.Plugins() })
			begin := time.Now()
			for range 2 {
				loop(1, func() {
					if err := h.Close(t.Context()); err != nil {
						t.Errorf("Close: %v", err)
					}
				})
			}
			for range running {
				<-done
			}
			if took := time.Since(begin); took > ceiling {
				t.Errorf("it took %v", took)
			}
			for _, s := range h.Plugins() {
				assert.Equalf(t, s.State, plugin.Draining, "after Close: %+v", s)
			}
		})
	}
	nothingLeft(t, before)
}
