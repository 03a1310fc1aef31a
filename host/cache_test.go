package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// load is a new host on a directory, with a cache.
func load(t *testing.T, dir, cache string, opts ...host.Option) *host.Host {
	t.Helper()
	h := newHost(t, append(opts, host.WithCache(cache))...)
	require.Must(h.Load(t.Context(), dir))(t)
	return h
}

// starts counts the processes that a host has begun, by plugin.
func starts(h *host.Host) map[string]int {
	out := map[string]int{}
	for _, s := range h.Plugins() {
		if s.Starts > 0 {
			out[s.Name] = s.Starts
		}
	}
	return out
}

func TestCachedPluginsAreNotStarted(t *testing.T) {
	t.Parallel()
	dir, cache := plugintest.Dir(t, plugintest.Fixture, "named-1", "named-2"), t.TempDir()
	cold := load(t, dir, cache)
	if got := starts(cold); len(got) != 3 {
		t.Fatalf("the first host started %v", got)
	}
	warm := load(t, dir, cache)
	if got := starts(warm); len(got) != 0 {
		t.Errorf("the second host started %v", got)
	}
	want, got := require.Must(json.Marshal(cold.Tools(host.Filter{})))(t), require.Must(json.Marshal(warm.Tools(host.Filter{})))(t)
	assert.Equalf(t, string(got), string(want), "the tools are\n%s\nwant\n%s", got, want)
	for i, s := range warm.Plugins() {
		if c := cold.Plugins()[i]; s.State != plugin.Idle || s.Version != c.Version || s.SDK != c.SDK || s.Tools != c.Tools || s.PID != 0 {
			t.Errorf("status %+v, of the running one %+v", s, c)
		}
	}
	if err := warm.ValidateCall("named-1.t0", []byte(`{"limit":"x"}`)); tool.CodeOf(err) != tool.CodeInvalidArguments {
		t.Errorf("ValidateCall: %v", err)
	}
	if out := warm.Call(t.Context(), tool.Call{Name: "named-1.t0", Arguments: []byte(`{"limit":"x"}`)}); out.Error == nil || out.Error.Code != tool.CodeInvalidArguments {
		t.Errorf("bad arguments: %+v", out)
	}
	if got := starts(warm); len(got) != 0 {
		t.Errorf("bad arguments started %v", got)
	}
	// A call starts its own plugin, and no other.
	if out := warm.Call(t.Context(), tool.Call{Name: "named-1.t0"}); !out.Success {
		t.Errorf("the call: %+v", out)
	}
	if got := starts(warm); len(got) != 1 || got["named-1"] != 1 {
		t.Errorf("the call started %v", got)
	}
}

// Names go to the same owners whether plugins are started or remembered.
func TestNamesGoToTheFirstFromTheCacheToo(t *testing.T) {
	t.Parallel()
	dir, cache := plugintest.Dir(t, "fixture-b", "fixture-a"), t.TempDir()
	for range 2 {
		h := newHost(t, host.WithCache(cache))
		if _, err := h.Load(t.Context(), dir); !errors.Is(err, tool.ErrAlreadyExists) {
			t.Errorf("Load: %v", err)
		}
		for _, got := range h.Tools(host.Filter{}) {
			assert.Equalf(t, got.Owner, "fixture-a", "%s went to", got.Name)
		}
	}
}

// exchange puts other bytes that do the same in a plugin's place.
func exchange(t *testing.T, path string) {
	t.Helper()
	content := require.Must(os.ReadFile(path))(t)
	require.NoError(t, os.Remove(path))
	if err := os.WriteFile(path, append(content, "newer"...), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
}

// What makes another plugin of it, or a useless cache, makes it start.
func TestStaleCacheIsNotBelieved(t *testing.T) {
	t.Parallel()
	each := func(t *testing.T, cache string, f func(path string) error) {
		require.NoError(t, filepath.WalkDir(cache, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			return f(path)
		}))
	}
	for name, c := range map[string]struct {
		change func(t *testing.T, binary, cache string)
		opts   []host.Option
	}{
		"another binary": {change: func(t *testing.T, binary, _ string) { exchange(t, binary) }},
		"another environment": {opts: []host.Option{host.WithDefaults(func(all *plugin.Settings) {
			all.Env = []string{"NAMED=by the operator"}
		})}},
		"damaged": {change: func(t *testing.T, _, cache string) {
			each(t, cache, func(path string) error {
				if filepath.Base(path) == "CACHEDIR.TAG" { // without it, nothing there is toolhost's
					return nil
				}
				return os.Truncate(path, 100)
			})
		}},
		"removed": {change: func(t *testing.T, _, cache string) { each(t, cache, os.Remove) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, cache := plugintest.Dir(t, plugintest.Named), t.TempDir()
			load(t, dir, cache)
			if c.change != nil {
				c.change(t, filepath.Join(dir, string(plugintest.Named)), cache)
			}
			if got := starts(load(t, dir, cache, c.opts...)); got["named"] != 1 {
				t.Errorf("after the change, %v was started", got)
			}
			if got := starts(load(t, dir, cache, c.opts...)); len(got) != 0 {
				t.Errorf("after that, %v was started", got)
			}
		})
	}
}

// Times alone do not make another binary of it.
func TestTouchedBinaryIsTheSame(t *testing.T) {
	t.Parallel()
	dir, cache := plugintest.Dir(t), t.TempDir()
	binary := plugintest.Install(t, dir, "named")
	exchange(t, binary) // a file of its own: the test's binary is linked by others
	load(t, dir, cache)
	then := require.Must(os.Stat(binary))(t).ModTime().Add(-1e9)
	require.NoError(t, os.Chtimes(binary, then, then))
	if got := starts(load(t, dir, cache)); len(got) != 0 {
		t.Errorf("%v was started", got)
	}
}

// A cache that cannot be used changes nothing but the time it takes.
func TestUnusableCache(t *testing.T) {
	t.Parallel()
	dir, file := plugintest.Dir(t, plugintest.Named), filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	vanished := t.TempDir()
	for _, cache := range []string{file, filepath.Join(file, "below"), vanished} {
		for range 2 {
			h := newHost(t, host.WithCache(cache))
			require.NoError(t, os.RemoveAll(vanished))
			require.Must(h.Load(t.Context(), dir))(t)
			if got := starts(h); got["named"] != 1 {
				t.Errorf("%s: started %v", cache, got)
			}
			if out := h.Call(t.Context(), tool.Call{Name: "named.t0"}); !out.Success {
				t.Errorf("%s: %+v", cache, out)
			}
		}
	}
}

func TestCacheIsFilledByTwoAtOnce(t *testing.T) {
	t.Parallel()
	dir, cache := plugintest.Dir(t, "named-1", "named-2", "named-3", "named-4"), t.TempDir()
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			h := newHost(t, host.WithCache(cache))
			if n, err := h.Load(t.Context(), dir); n != 4*plugintest.NamedTools || err != nil {
				t.Errorf("%d tools, %v", n, err)
			}
		})
	}
	both.Wait()
	if got := starts(load(t, dir, cache)); len(got) != 0 {
		t.Errorf("the third started %v", got)
	}
}

// A plugin with something wrong is not remembered: each time, the reason is told.
func TestRefusedPluginsAreNotRemembered(t *testing.T) {
	t.Parallel()
	dir, cache := plugintest.Dir(t, plugintest.Twice, plugintest.Quitter), t.TempDir()
	for range 2 {
		h := newHost(t, host.WithCache(cache))
		_, err := h.Load(t.Context(), dir)
		for _, text := range []string{`defines tool "twice.tool" twice`, "plugin quitter did not start"} {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("error %v lacks %q", err, text)
			}
		}
	}
}

// world is a workspace whose file tells what a plugin defines.
type world struct {
	t                *testing.T
	dir, root, cache string
}

func newWorld(t *testing.T, defs ...tool.Definition) world {
	w := world{t, plugintest.Dir(t, plugintest.Outside), t.TempDir(), t.TempDir()}
	w.define(defs...)
	w.load()
	return w
}

func (w world) define(defs ...tool.Definition) {
	w.t.Helper()
	text := require.Must(json.Marshal(defs))(w.t)
	if err := os.WriteFile(filepath.Join(w.root, plugintest.Definitions), text, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w world) load() *host.Host {
	w.t.Helper()
	return load(w.t, w.dir, w.cache, host.WithRoot(w.root))
}

func does(name string, level tool.Safety) tool.Definition {
	return tool.Definition{Name: name, Description: "Does something.", Safety: level}
}

// A caller must not be talked into a dangerous call by what the tool once was: the call was
// decided by a definition that is no longer true, so it is not run.
func TestChangedDefinitionIsNotRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, does("out.do", tool.Safe))
	h := w.load()
	w.define(does("out.do", tool.Dangerous))

	out, _, err := h.Session().CallWith(t.Context(), tool.Call{Name: "out.do"}, host.CallOptions{})
	var e *tool.Error
	if !errors.As(err, &e) || e.Code != tool.CodeUnavailable || !e.Unsent || e.Plugin != "outside" || !errors.Is(err, pluginrun.ErrChanged) || !strings.Contains(out.Content, "changed its definitions") {
		t.Errorf("the first call: %+v, %v", out, err)
	}
	// At once, and for the next process too.
	for _, h := range []*host.Host{h, w.load()} {
		if got, _ := h.Get("out.do"); got.Safety != tool.Dangerous {
			t.Errorf("the tool is still %v", got.Safety)
		}
		if out := h.Call(t.Context(), tool.Call{Name: "out.do"}); out.Error == nil || out.Error.Code != tool.CodeApprovalRequired {
			t.Errorf("the next call: %+v", out)
		}
	}
	if ran := plugintest.Ran(w.root); ran != 0 {
		t.Errorf("the tool ran %d times", ran)
	}
	yes := h.Session(host.WithApprover(approveAll))
	if out := yes.Call(t.Context(), tool.Call{Name: "out.do"}); !out.Success || plugintest.Ran(w.root) != 1 {
		t.Errorf("with a yes: %+v", out)
	}
}

var approveAll = policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
	return policy.Decision{Verdict: policy.Allow}, nil
})

func TestToolThatIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, does("out.do", tool.Safe), does("out.stay", tool.Safe))
	h := w.load()
	w.define(does("out.new", tool.Safe), does("out.stay", tool.Safe))

	// A tool that is what it was runs, whatever became of its neighbours.
	if out := h.Call(t.Context(), tool.Call{Name: "out.stay"}); !out.Success {
		t.Errorf("the tool that stays: %+v", out)
	}
	for out := h.Call(t.Context(), tool.Call{Name: "out.do"}); out.Error.Code != tool.CodeNotFound; out = h.Call(t.Context(), tool.Call{Name: "out.do"}) {
		if out.Error.Code != tool.CodeUnavailable {
			t.Fatalf("the tool that is gone: %+v", out)
		}
	}
	if out := h.Call(t.Context(), tool.Call{Name: "out.new"}); !out.Success {
		t.Errorf("the new tool: %+v", out)
	}
}

// What is taken up by a change has to be as sound as what is loaded.
func TestChangeForTheWorse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, does("out.do", tool.Safe))
	h := w.load()
	bad := does("out.do", tool.Safe)
	bad.InputSchema = tool.Schema(`{"type":"object","required":["missing"]}`)
	w.define(bad)
	if out := h.Call(t.Context(), tool.Call{Name: "out.do"}); out.Error == nil || out.Error.Code != tool.CodeUnavailable {
		t.Errorf("the first call: %+v", out)
	}
	if out := h.Call(t.Context(), tool.Call{Name: "out.do"}); out.Error == nil || out.Error.Code != tool.CodeNotFound {
		t.Errorf("the next call: %+v", out)
	}
	next := newHost(t, host.WithRoot(w.root), host.WithCache(w.cache))
	if _, err := next.Load(t.Context(), w.dir); err == nil || !strings.Contains(err.Error(), "not among the properties") {
		t.Errorf("the next process is told %v", err)
	}
}

// Calls that come while the change is found out about: none runs on what was.
func TestChangeUnderCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, does("out.do", tool.Safe))
	h := w.load()
	w.define(does("out.do", tool.Dangerous))
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for {
				out := h.Call(t.Context(), tool.Call{Name: "out.do"})
				switch {
				case out.Success:
					t.Error("it ran")
					return
				case out.Error.Code == tool.CodeApprovalRequired:
					return
				case out.Error.Code != tool.CodeUnavailable:
					t.Errorf("%+v", out)
					return
				}
				runtime.Gosched()
			}
		})
	}
	all.Wait()
	if ran := plugintest.Ran(w.root); ran != 0 {
		t.Errorf("the tool ran %d times", ran)
	}
}
