package verify_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/verify"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// faultsOfCalls are found by calls that are made twice, and by clocks.
var faultsOfCalls = []fault{
	{name: "remembering", check: "calls.sessions", says: `session leak: "fault.echo"`},
	{name: "mixing", check: "concurrency.answers", says: `answers mixed up: "fault.echo"`},
	{name: "working", check: "cancel.result", says: `cancel ignored: "fault.echo" goes on for more than 2s`},
	{name: "burning", check: "cancel.call", says: "cancel ignored: 2s after its calls were given up it still takes"},
	{name: "placed", check: "start.repeats", says: "in another workspace: "},
	{name: "dated", check: "start.repeats", says: "at another date"},
	{name: "universal", check: "start.repeats", says: "it has today's date"},
	{name: "counting", check: "concurrency.calls", says: "of 64 calls at a time, number "},
	{name: "unwell", check: "services.health", says: "Health is not well for 5s"},
	{name: "lazy", check: "calls.first", says: "the first call took 9"},
	{name: "slow", check: "start.time", says: "its fastest start took 4"},
}

type echoed struct {
	Text string `json:"text" jsonschema:"A text."`
}

// echo is a plugin with a tool.
func echo(answer func(context.Context, echoed) (string, error)) *pluginsdk.Plugin {
	if answer == nil {
		answer = func(_ context.Context, in echoed) (string, error) { return in.Text, nil }
	}
	return &pluginsdk.Plugin{Name: "fault", Version: "1.0.0", Needs: &tool.Needs{}, Tools: []tool.Tool{
		pluginsdk.Func("fault.echo", "Returns a text.", answer, pluginsdk.Safe()),
	}}
}

// after waits as a call does.
func after(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// pluginsOfCalls are the plugins of [faultsOfCalls], with the fault or without it.
var pluginsOfCalls = map[string]func(faulty bool) *pluginsdk.Plugin{
	"remembering": func(faulty bool) *pluginsdk.Plugin {
		type memory struct {
			sync.Mutex
			last string
		}
		var own pluginsdk.Sessions[memory]
		var shared memory
		p := echo(func(ctx context.Context, in echoed) (string, error) {
			m := own.Get(ctx)
			if faulty {
				m = &shared
			}
			m.Lock()
			defer m.Unlock()
			before := m.last
			m.last = in.Text
			return fmt.Sprintf("%s; before: %s", in.Text, before), nil
		})
		p.SessionEnded = own.Ended
		return p
	},
	"mixing": func(faulty bool) *pluginsdk.Plugin {
		var shared atomic.Pointer[string]
		return echo(func(ctx context.Context, in echoed) (string, error) {
			own := &in.Text
			shared.Store(own)
			err := after(ctx, time.Millisecond)
			if faulty {
				own = shared.Load()
			}
			return *own, err
		})
	},
	"working": func(faulty bool) *pluginsdk.Plugin {
		return echo(func(ctx context.Context, in echoed) (string, error) {
			err := after(ctx, 400*time.Millisecond) // it is cancelled before, also on a busy machine
			if faulty && err != nil {
				time.Sleep(6 * time.Second)
			}
			return in.Text, err
		})
	},
	"burning": func(faulty bool) *pluginsdk.Plugin {
		return echo(func(ctx context.Context, in echoed) (string, error) {
			done := make(chan struct{})
			go func() { // the work, of which the call does not wait for the end
				defer close(done)
				_ = after(ctx, 400*time.Millisecond)
				for until := time.Now().Add(6 * time.Second); faulty && ctx.Err() != nil && time.Now().Before(until); {
				}
			}()
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-done:
				return in.Text, nil
			}
		})
	},
	"placed": func(faulty bool) *pluginsdk.Plugin {
		p := echo(nil)
		if dir, _ := os.Getwd(); faulty {
			p.Tools[0].Description = "Returns a text in " + dir + "."
		}
		return p
	},
	"dated": func(faulty bool) *pluginsdk.Plugin {
		p := echo(nil)
		if faulty {
			p.Tools[0].Description = time.Now().Format("Returns a text, on 2 January 2006.")
		}
		return p
	},
	"universal": func(faulty bool) *pluginsdk.Plugin {
		p := echo(nil)
		if faulty {
			p.Tools[0].Description = "Returns a text, since " + time.Now().UTC().Format("Mon, 02 Jan 2006") + "." // not the second, which another start has too
		}
		return p
	},
	"counting": func(faulty bool) *pluginsdk.Plugin {
		var calls atomic.Int64
		return echo(func(_ context.Context, in echoed) (string, error) {
			if calls.Add(1) == 5000 && faulty {
				os.Exit(3)
			}
			return in.Text, nil
		})
	},
	"unwell": func(faulty bool) *pluginsdk.Plugin {
		began := time.Now()
		p := echo(nil)
		p.Health = func(context.Context) error {
			if faulty || time.Since(began) < time.Second {
				return errors.New("the login has expired")
			}
			return nil
		}
		return p
	},
	"lazy": func(faulty bool) *pluginsdk.Plugin {
		var once sync.Once
		return echo(func(_ context.Context, in echoed) (string, error) {
			if faulty {
				once.Do(func() { time.Sleep(9 * time.Second) })
			}
			return in.Text, nil
		})
	},
	"slow": func(faulty bool) *pluginsdk.Plugin {
		if faulty {
			time.Sleep(4 * time.Second)
		}
		return echo(nil)
	},
}

// modesOfCalls are the programs.
func modesOfCalls() map[plugintest.Mode]func() {
	out := map[plugintest.Mode]func(){}
	for name, of := range pluginsOfCalls {
		out[plugintest.Mode(name)] = func() { of(true).Main() }
		out[plugintest.Mode("sound-"+name)] = func() { of(false).Main() }
	}
	return out
}

// A start of 4 s does not make all of it slow: what can start at the same time does.
func TestSlowStart(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it waits for half a minute")
	}
	file := plugintest.InstallSelf(t, t.TempDir(), "slow")
	report := require.Must(verify.Run(t.Context(), verify.Options{File: file}))(t)
	if took := time.Duration(report.Took); took > time.Minute || report.Failed > 0 {
		t.Errorf("it took %v: %s", took, report.Summary())
	}
}
