package pluginrun_test

import (
	"context"
	"encoding/json"
	"fmt"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/internal/test/assert"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/internal/test/toolserver"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// program is what a server of a test runs.
func program(s plugin.Server) *plugin.Command { return s.Connector.Command() }

// A server sees nothing in the directory in which plugins have their sockets.
func TestServerSeesNoSockets(t *testing.T) {
	t.Parallel()
	if !require.Must(sandbox.Detect())(t).Mounts {
		t.Skip("there are no mount namespaces")
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "socket"), nil, 0o600))
	p := reach(t, toolserver.New(t, "s"), func(c *pluginrun.Config) { c.Sockets = func() (string, error) { return dir, nil } })
	require.NoError(t, p.Ready(t.Context()))
	sees, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(p.Status().PID), "root", dir))
	if err != nil || len(sees) > 0 {
		t.Errorf("it sees %v, %v", sees, err)
	}
}

// A server that exits in a call is a crash, with how it ended and its last words, and the
// next call starts it again.
func TestServerExitsInACall(t *testing.T) {
	t.Parallel()
	p := reach(t, toolserver.New(t, "s"))
	before := call(t, p, "s.pid", "{}").Text()
	_, err := p.Execute(t.Context(), tool.Call{Name: "s.exit", Arguments: []byte(`{"code":3}`)})
	e := tool.AsError(err)
	if want := "plugin s crashed while it ran s.exit: exit status 3: panic: told to exit"; e.Code != tool.CodeCrashed || e.Message != want {
		t.Errorf("got %s: %v", e.Code, err)
	}
	assert.Containsf(t, e.Detail, "told to exit", "the detail")
	if after := call(t, p, "s.pid", "{}").Text(); after == before {
		t.Error("it is the same process")
	}
	if s := p.Status(); s.Crashes != 1 || s.Starts != 2 {
		t.Errorf("the status is %+v", s)
	}
}

// Starts that fail say why, and leave no process.
func TestServerDoesNotStart(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		told, path, want string
	}{
		"quits":    {told: toolserver.Quits, want: "the process ended before it was ready: exit status 3: no license found"},
		"mute":     {told: toolserver.Mute, want: "not ready within 300ms"},
		"not a":    {path: "/dev/null", want: "the system may not run it"},
		"no file":  {path: "/nowhere/server", want: "does not exist"},
		"no name":  {path: "toolhost-no-such-program", want: "it is in no directory of its PATH (/bin"},
		"no words": {path: "/bin/false", want: "the process ended before it was ready: exit status 1"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := toolserver.New(t, "s", c.told)
			if program(server).Env = append(program(server).Env, "PATH=/bin:/usr/bin"); c.path != "" {
				program(server).Path = c.path
			}
			p := reach(t, server, func(cfg *pluginrun.Config) {
				if c.told == toolserver.Mute {
					cfg.StartTimeout = 300 * time.Millisecond
				}
			})
			_, err := p.List(t.Context())
			if tool.CodeOf(err) != tool.CodeUnavailable || !strings.Contains(err.Error(), "plugin s did not start: ") ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if _, ok := pluginrun.FailedStart(err); !ok {
				t.Error("it does not count as a start that failed")
			}
			if s := p.Status(); s.State != plugin.Refused || s.PID != 0 {
				t.Errorf("the status is %+v", s)
			}
		})
	}
}

// A server that lists its tools and then exits, again and again, is quarantined, though it
// exits with 0.
func TestServerThatLeavesIsQuarantined(t *testing.T) {
	t.Parallel()
	p := reach(t, toolserver.New(t, "s", toolserver.Leaves), func(c *pluginrun.Config) {
		c.Restart = plugin.RestartPolicy{Free: 1, Backoff: time.Millisecond, Quarantine: 3, Cooldown: time.Hour}
	})
	for range 3 {
		_ = p.Ready(t.Context()) // on a busy machine it leaves before the host is ready, which counts too
		ends(t, p)
	}
	if s := p.Status(); s.State != plugin.Quarantined || s.Crashes == 0 {
		t.Errorf("the status is %+v", s)
	}
	if err := p.Ready(t.Context()); tool.CodeOf(err) != tool.CodeUnavailable || !strings.Contains(err.Error(), "is quarantined") {
		t.Errorf("got %v", err)
	}
}

// ends waits until a plugin does not run.
func ends(t *testing.T, p *pluginrun.Plugin) {
	t.Helper()
	require.Eventually(t, "it has ended", func() bool { return p.Status().State != plugin.Ready })
}

// What a server writes without end is not kept: a line that is too long and lines that are not
// JSON end it, the rest is slowed down.
func TestServerFloods(t *testing.T) {
	t.Parallel()
	for _, flood := range []string{"flood", "garbage", "notices", "noise"} {
		t.Run(flood, func(t *testing.T) {
			t.Parallel()
			kept := &journal.Journal{}
			p := reach(t, toolserver.New(t, "s"), func(c *pluginrun.Config) { c.Journal = kept })
			call(t, p, "s.echo", `{"text":"x"}`)
			_, _ = p.Execute(t.Context(), tool.Call{Name: "s." + flood, Arguments: []byte("{}")}) // it may break the answer
			switch flood {
			case "flood", "garbage":
				ends(t, p)
				if s := p.Status(); s.Crashes != 1 || !strings.Contains(s.Reason, "the connection was lost: ") {
					t.Errorf("the status is %+v", s)
				}
			case "noise":
				for range 20 {
					call(t, p, "s.echo", `{"text":"x"}`)
				}
				require.Eventually(t, "the status says so", func() bool { return p.Status().Output != "" })
				lines, _ := kept.Since(0)
				if len(lines) == 0 || strings.Contains(lines[0].Text, "\x1b") {
					t.Errorf("the journal has %d lines", len(lines))
				}
			}
		})
	}
}

// A server that does not end when it is asked to, or leaves a process that holds its pipes, is
// ended with all that it started.
func TestServerIsEnded(t *testing.T) {
	t.Parallel()
	for _, told := range []string{toolserver.Stubborn, toolserver.Grandchild} {
		t.Run(told, func(t *testing.T) {
			t.Parallel()
			p := reach(t, toolserver.New(t, "s", told)) // which looks for processes when the test has ended
			pid := call(t, p, "s.pid", "{}").Text()
			if told == toolserver.Grandchild { // and the end of a crash is not held up either
				if _, err := p.Execute(t.Context(), tool.Call{Name: "s.exit", Arguments: []byte(`{"code":1}`)}); tool.CodeOf(err) != tool.CodeCrashed {
					t.Errorf("got %v", err)
				}
				call(t, p, "s.pid", "{}")
			}
			ctx, cancel := context.WithTimeout(t.Context(), ceiling)
			defer cancel()
			if err := p.Close(ctx); err != nil || ctx.Err() != nil {
				t.Errorf("Close: %v, %v", err, ctx.Err())
			}
			if n, _ := strconv.Atoi(pid); syscall.Kill(n, 0) == nil {
				t.Errorf("process %s is there", pid)
			}
		})
	}
}

// A server in good order ends with its standard input, and is not killed.
func TestServerEndsWithItsInput(t *testing.T) {
	t.Parallel()
	end := make(chan string, 1)
	log := hclog.NewInterceptLogger(&hclog.LoggerOptions{Level: hclog.Debug, Output: io.Discard})
	log.RegisterSink(&sink{func(text string, args ...any) {
		if text == "plugin ended" {
			end <- fmt.Sprint(args...)
		}
	}})
	p := reach(t, toolserver.New(t, "s"), func(c *pluginrun.Config) { c.Logger = log })
	call(t, p, "s.pid", "{}")
	require.NoError(t, p.Close(t.Context()))
	assert.Containsf(t, <-end, "exit status 0", "it ended by")
}

type sink struct {
	accept func(text string, args ...any)
}

// Accept implements [hclog.SinkAdapter].
func (s *sink) Accept(_ string, _ hclog.Level, text string, args ...any) { s.accept(text, args...) }

// A server that is stopped is found out by a ping and ended, as a plugin is by its health
// service; and however much it does not read, calls end in their time.
func TestServerIsStopped(t *testing.T) {
	t.Parallel()
	p := reach(t, toolserver.New(t, "s"), func(c *pluginrun.Config) { pluginrun.WithHealthPause(c, time.Hour) })
	call(t, p, "s.pid", "{}")
	require.NoError(t, syscall.Kill(p.Status().PID, syscall.SIGSTOP))
	args, _ := json.Marshal(map[string]string{"text": strings.Repeat("x", 200<<10)}) // more than the pipe holds
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		begin := time.Now()
		_, err := p.Execute(ctx, tool.Call{Name: "s.echo", Arguments: args})
		cancel()
		if took := time.Since(begin); tool.CodeOf(err) != tool.CodeDeadlineExceeded || took > ceiling/10 {
			t.Errorf("after %v: %v", took, err)
		}
	}
	becomes(t, p, plugin.Degraded)
	require.NoError(t, syscall.Kill(p.Status().PID, syscall.SIGCONT))
	call(t, p, "s.echo", `{"text":"x"}`)
	if s := p.Status(); s.State != plugin.Ready || s.LastFault == nil {
		t.Errorf("it goes on: %+v", s)
	}
}

// The process of a server that nothing calls ends, and the next call starts another.
func TestServerIsIdle(t *testing.T) {
	t.Parallel()
	p := reach(t, toolserver.New(t, "s"), func(c *pluginrun.Config) { c.IdleTimeout = 40 * time.Millisecond })
	first := call(t, p, "s.pid", "{}").Text()
	ends(t, p)
	if second := call(t, p, "s.pid", "{}").Text(); first == second {
		t.Error("it was not stopped")
	}
}

// A program is found in the PATH that the Connector gives it, and may be a script.
func TestServerProgram(t *testing.T) {
	t.Parallel()
	server := toolserver.New(t, "s", "one")
	bin, dir := t.TempDir(), t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nexec %s \"$@\"\n", program(server).Path)
	if err := os.WriteFile(filepath.Join(bin, "my-server"), []byte(script), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	program(server).Path, program(server).Dir = "my-server", dir
	program(server).Env = append(program(server).Env, "PATH=.:"+bin+":/bin", "MY_TOKEN=abc")
	p := reach(t, server)
	var seen toolserver.Seen
	require.NoError(t, json.Unmarshal([]byte(call(t, p, "s.look", "{}").Text()), &seen))
	if !slices.Contains(seen.Env, "MY_TOKEN=abc") || seen.Dir != dir || !slices.Equal(seen.Args[1:], []string{"one"}) {
		t.Errorf("it sees %+v", seen)
	}
}

// Connections that end in each way leave no goroutine and no descriptor. It is not parallel, so
// those of other tests are not counted.
func TestNothingIsLeftOfServers(t *testing.T) { //nolint:paralleltest // it counts
	whole, quits := toolserver.New(t, "s"), toolserver.New(t, "s", toolserver.Quits)
	stubborn := toolserver.New(t, "s", toolserver.Grandchild)
	missing := toolserver.New(t, "s")
	program(missing).Path = "toolhost-no-such-program"
	cycle := func() {
		far := plugin.Server{Name: "r", Connector: remote{lose: make(chan error)}, Identity: "x"}
		for _, server := range []plugin.Server{whole, quits, stubborn, missing, far} {
			p := pluginrun.NewServer(server, pluginrun.Config{Root: t.TempDir(), Settings: plugin.Settings{StartTimeout: ceiling}})
			if _, err := p.List(t.Context()); err == nil {
				_, _ = p.Execute(t.Context(), tool.Call{Name: "s.exit", Arguments: []byte(`{"code":1}`)})
				_, _ = p.Execute(t.Context(), tool.Call{Name: "s.flood", Arguments: []byte(`{}`)})
			}
			assert.NoError(t, p.Close(t.Context()))
		}
	}
	leavesNothing(t, cycle)
}
