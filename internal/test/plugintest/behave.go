package plugintest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/fixture"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

var behaviours = map[Mode]func(){
	Fixture:   func() { pluginsdk.Main(fixture.Tools()...) },
	Crasher:   func() { pluginsdk.Main(crashTools()...) },
	Named:     func() { pluginsdk.Main(namedTools()...) },
	Outside:   describeOutside,
	Snoop:     snoop,
	Preview:   func() { pluginsdk.Main(previewTools()...) },
	Growing:   grow,
	Lively:    beLively,
	Asking:    func() { pluginsdk.Main(askTools()...) },
	Versioned: beVersioned,
	Twice:     describeTwice,
	Unaware:   beUnaware,
	Silent:    Hang,
	Garbage:   func() { shout("hello from the plugin\x1b[31m\n") },
	Printing:  func() { printEverywhere(); pluginsdk.Main(logTools()...) },
	Quitter: func() {
		fmt.Fprintln(os.Stderr, "cannot find my configuration")
		os.Exit(3)
	},
	OldCore:   func() { shout("99|1|unix|/tmp/none|grpc\n"); Hang() },
	OtherApp:  func() { shout("1|99|unix|/tmp/none|grpc\n"); Hang() },
	TCP:       func() { shout("1|1|tcp|127.0.0.1:1|grpc\n"); Hang() },
	Elsewhere: func() { shout("1|1|unix|/tmp/elsewhere/plugin|grpc\n"); Hang() },
	NotAsked:  func() {},
}

func shout(s string) { _, _ = io.WriteString(os.Stdout, s) }

type none struct{}

type number struct {
	Code int `json:"code"`
}

// grow serves tools that change its tools.
func grow() {
	var set tool.Set
	type name struct {
		Name string `json:"name"`
	}
	answer := func(context.Context, none) (string, error) { return "new", nil }
	pluginsdk.Plugin{Set: &set, Tools: []tool.Tool{
		pluginsdk.Func("grow.put", "Adds a tool.", func(_ context.Context, in name) (string, error) {
			return "put", set.Put(pluginsdk.Func(in.Name, "Is new.", answer, pluginsdk.Safe()))
		}, pluginsdk.Safe()),
		pluginsdk.Func("grow.remove", "Removes a tool.", func(_ context.Context, in name) (string, error) {
			set.Remove(in.Name)
			return "removed", nil
		}, pluginsdk.Safe()),
	}}.Main()
}

// crashTools end the process in every way that a tool can.
func crashTools() []tool.Tool {
	var waiting atomic.Int64
	return []tool.Tool{
		pluginsdk.Func("crash.panic", "Panics in an unguarded goroutine.", func(ctx context.Context, _ none) (string, error) {
			fmt.Fprintln(os.Stderr, "about to panic")
			go panic("the author's mistake")
			<-ctx.Done()
			return "", ctx.Err()
		}, pluginsdk.Safe()),
		pluginsdk.Func("crash.exit", "Exits with a status.", func(_ context.Context, n number) (string, error) {
			fmt.Fprintln(os.Stderr, "leaving on purpose\x1b[2J")
			os.Exit(n.Code)
			return "", nil
		}, pluginsdk.Safe()),
		pluginsdk.Func("crash.wait", "Waits for its context, or for the end.", func(ctx context.Context, _ none) (string, error) {
			waiting.Add(1)
			defer waiting.Add(-1)
			<-ctx.Done()
			return "", ctx.Err()
		}, pluginsdk.Safe()),
		pluginsdk.Func("crash.waiting", "Tells how many calls wait.", func(context.Context, none) (int64, error) {
			return waiting.Load(), nil
		}, pluginsdk.Safe()),
		pluginsdk.Func("crash.pid", "Tells the process number.", func(context.Context, none) (int, error) {
			return ProcessNumber(), nil
		}, pluginsdk.Safe()),
		flaky("crash.flaky", pluginsdk.Idempotent(2)),
		retriedInVain(flaky("crash.once")),
		pluginsdk.Func("crash.guarded", "Leaves a line in the ledger.", func(context.Context, number) (string, error) {
			return "done", note("crash.guarded")
		}, pluginsdk.Safe(), pluginsdk.Permission("guard"), pluginsdk.RateLimit(1, time.Hour)),
		pluginsdk.Func("crash.chatter", "Logs on its stream until its context ends.", func(ctx context.Context, _ none) (string, error) {
			for ctx.Err() == nil {
				tool.Log(ctx, slog.LevelInfo, strings.Repeat("chatter ", 100))
			}
			return "", ctx.Err()
		}, pluginsdk.Safe()),
		pluginsdk.Func("crash.say", "Writes a line to standard error.", func(_ context.Context, s struct {
			Line string `json:"line"`
		}) (string, error) {
			fmt.Fprintln(os.Stderr, s.Line)
			return "said", nil
		}, pluginsdk.Safe()),
	}
}

// flaky is a tool that ends the process the first two times that it runs. Each
// run leaves a line in the file "ledger" of the workspace.
func flaky(name string, opts ...pluginsdk.Option) tool.Tool {
	return pluginsdk.Func(name, "Ends the process twice, then works.", func(context.Context, none) (string, error) {
		if err := note(name); err != nil {
			return "", err
		}
		ledger, err := os.ReadFile("ledger")
		if err != nil {
			return "", err
		}
		if strings.Count(string(ledger), name) <= 2 {
			os.Exit(1)
		}
		return "worked", nil
	}, append(opts, pluginsdk.Safe())...)
}

// note leaves a line in the file "ledger" of the workspace.
func note(line string) error {
	f, err := os.OpenFile("ledger", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// retriedInVain asks for retries without saying that they do no harm.
func retriedInVain(t tool.Tool) tool.Tool {
	t.MaxRetries = 2
	return t
}

// Seen is what [Snoop]'s tool reports.
type Seen struct {
	Env   []string `json:"env"`
	Stdin string   `json:"stdin"`
	Dir   string   `json:"dir"`
	// Files are the open descriptors above standard error, as the system describes
	// them, without those that the Go runtime opens for itself.
	Files []string `json:"files"`
	// Protected is what the host tells it not to let tools change.
	Protected []string `json:"protected"`
	// Refused are those of them that the SDK would not let it write to.
	Refused []string `json:"refused"`
}

func snoop() {
	seen := Seen{Env: os.Environ()}
	fds, _ := os.ReadDir("/proc/self/fd")
	for _, fd := range fds {
		target, err := os.Readlink(filepath.Join("/proc/self/fd", fd.Name()))
		if err == nil && len(fd.Name()) < 3 && fd.Name() > "2" && !strings.HasPrefix(target, "anon_inode:") && !strings.HasPrefix(target, "/proc/") && !strings.HasPrefix(target, "/sys/") {
			seen.Files = append(seen.Files, fd.Name()+" "+target)
		}
	}
	in, _ := io.ReadAll(io.LimitReader(os.Stdin, 1<<10))
	seen.Stdin = string(in)
	seen.Dir, _ = os.Getwd()
	look := pluginsdk.Func("snoop.look", "Shows what the plugin can see of the host.", func(context.Context, none) (Seen, error) {
		return seen, nil
	}, pluginsdk.Safe())
	pluginsdk.Plugin{Tools: []tool.Tool{look}, Configure: func(_ context.Context, c pluginsdk.Config) error {
		seen.Protected = c.Protected
		for _, path := range c.Protected {
			if tool.CodeOf(c.CheckWrite(path)) == tool.CodePermissionDenied {
				seen.Refused = append(seen.Refused, path)
			}
		}
		return c.CheckWrite("anything/else")
	}}.Main()
}

// Hang does nothing for ever. (An empty select would be a deadlock to the
// runtime, and end the process.)
func Hang() {
	for {
		time.Sleep(time.Hour)
	}
}
