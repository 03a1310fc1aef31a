package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/tooltest"
)

// The whole way, through a session, on a plugin's process.
func TestLoadedPluginIsAProvider(t *testing.T) {
	t.Parallel()
	dir := plugintest.Dir(t, plugintest.Fixture)
	tooltest.Run(t, func(t *testing.T) tool.Provider {
		h := newHost(t)
		require.Must(h.Load(t.Context(), dir))(t)
		return h
	})
}

// One bad plugin does not hold up the others, and each is reported by name.
func TestLoad(t *testing.T) {
	t.Parallel()
	dir := plugintest.Dir(t, plugintest.Fixture, plugintest.Crasher, plugintest.Quitter, plugintest.Garbage, plugintest.Twice)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README"), []byte("not a plugin"), 0o600))
	h := newHost(t)
	n, err := h.Load(t.Context(), dir)
	for _, text := range []string{"plugin quitter did not start", "plugin garbage did not start", "twice"} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v lacks %q", err, text)
		}
	}
	if n != h.Len() || n == 0 {
		t.Errorf("Load says %d tools, there are %d", n, h.Len())
	}
	for _, name := range h.Names() {
		got, _ := h.Get(name)
		if want, _, _ := strings.Cut(name, "."); got.Owner != map[string]string{"test": "fixture", "crash": "crasher"}[want] {
			t.Errorf("%s belongs to %q", name, got.Owner)
		}
	}
	states := map[string]plugin.State{}
	for _, s := range h.Plugins() {
		states[s.Name] = s.State
	}
	if states["fixture"] != plugin.Ready || states["quitter"] != plugin.Refused || len(states) != 5 {
		t.Errorf("states %v", states)
	}
	if skipped := h.Status().Skipped; len(skipped) != 1 || filepath.Base(skipped[0].Path) != "README" {
		t.Errorf("skipped %v", skipped)
	}

	again, _ := h.Load(t.Context(), dir)
	if again != n || len(h.Status().Skipped) != 1 || len(h.Plugins()) != 5 {
		t.Errorf("loading twice: %d tools, before %d; %d plugins", again, n, len(h.Plugins()))
	}
	for _, s := range h.Plugins() {
		if s.State == plugin.Ready && s.Starts != 1 {
			t.Errorf("loading twice started %s %d times", s.Name, s.Starts)
		}
	}
}

// The first to have a name keeps it, and which is the first does not depend on
// which starts faster.
func TestNamesGoToTheFirst(t *testing.T) {
	t.Parallel()
	one, two := plugintest.Dir(t), plugintest.Dir(t)
	plugintest.Install(t, one, "fixture-a")
	plugintest.Install(t, one, "fixture-b")
	plugintest.Install(t, two, "fixture-a")
	h := newHost(t)
	_, err := h.Load(t.Context(), one, two)
	if !errors.Is(err, tool.ErrAlreadyExists) || !strings.Contains(err.Error(), "plugin fixture-a is loaded already, from "+one) {
		t.Errorf("got %v", err)
	}
	for _, got := range h.Tools(host.Filter{}) {
		assert.Equalf(t, got.Owner, "fixture-a", "%s went to", got.Name)
	}
}

func TestLoadDirectories(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	if n, err := h.Load(t.Context(), t.TempDir()); n != 0 || err != nil {
		t.Errorf("an empty directory: %d, %v", n, err)
	}
	if _, err := h.Load(t.Context(), filepath.Join(t.TempDir(), "missing")); tool.CodeOf(err) != tool.CodeNotFound {
		t.Errorf("a missing directory: %v", err)
	}
	_, err := h.Execute(t.Context(), tool.Call{Name: "any"})
	assert.ErrorContainsf(t, err, "no tools are loaded", "a call on an empty host")
}

// A crash is an error of its caller, and of no other.
func TestCrashIsIsolated(t *testing.T) {
	t.Parallel()
	dir := plugintest.Dir(t, plugintest.Fixture, plugintest.Crasher)
	h := newHost(t)
	require.Must(h.Load(t.Context(), dir))(t)
	ctx, cancel := context.WithTimeout(t.Context(), ceiling)
	defer cancel()
	for range 3 {
		out := h.Call(ctx, tool.Call{Name: "crash.exit", Arguments: []byte(`{"code":9}`)})
		if out.Success || out.Error.Code != tool.CodeCrashed || !strings.Contains(out.Content, "exit status 9") || out.Metadata.Plugin != "crasher" {
			t.Errorf("outcome %+v", out)
		}
		if out := h.Call(ctx, tool.Call{Name: "test.echo", Arguments: []byte(`{"text":"still here"}`)}); !out.Success {
			t.Errorf("the neighbour: %+v", out)
		}
	}
	if out := h.Call(ctx, tool.Call{Name: "crash.pid"}); !out.Success {
		t.Errorf("after the crashes: %+v", out)
	}
	for _, s := range h.Plugins() {
		if want := map[string]int{"fixture": 1, "crasher": 4}[s.Name]; s.Starts != want {
			t.Errorf("%s was started %d times, want %d", s.Name, s.Starts, want)
		}
	}
}

func TestClosedHost(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	require.Must(h.Load(t.Context(), plugintest.Dir(t, plugintest.Fixture)))(t)
	for range 2 {
		require.NoError(t, h.Close(t.Context()))
	}
	if _, err := h.Execute(t.Context(), tool.Call{Name: "test.echo", Arguments: []byte(`{"text":"x"}`)}); tool.CodeOf(err) != tool.CodeUnavailable {
		t.Errorf("Execute: %v", err)
	}
	if _, err := h.Load(t.Context(), plugintest.Dir(t, plugintest.Crasher)); tool.CodeOf(err) != tool.CodeUnavailable {
		t.Errorf("Load: %v", err)
	}
}

// A host that is closed while it loads leaves nothing, and neither waits for the
// other for ever.
func TestCloseWhileLoading(t *testing.T) {
	t.Parallel()
	dir := plugintest.Dir(t, plugintest.Fixture, plugintest.Crasher, plugintest.Silent)
	for range 10 {
		h := newHost(t)
		loaded := make(chan error, 1)
		go func() {
			_, err := h.Load(t.Context(), dir)
			loaded <- err
		}()
		for len(h.Plugins()) == 0 {
			runtime.Gosched()
		}
		assert.NoError(t, h.Close(t.Context()))
		if err := <-loaded; err == nil {
			t.Error("all was loaded, though one plugin never starts")
		}
	}
}

// changing is a provider whose tools change.
type changing struct {
	tool.Provider
	defs    chan []tool.Definition
	changes chan struct{}
}

func (c *changing) List(context.Context) ([]tool.Definition, error) { return <-c.defs, nil }
func (c *changing) Changes() <-chan struct{}                        { return c.changes }
func (c *changing) Close(context.Context) error                     { close(c.changes); return nil }

func TestChangesAreFollowed(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	set := require.Must(tool.NewSet(echo("a"), echo("b")))(t)
	c := &changing{Provider: set, defs: make(chan []tool.Definition, 1), changes: make(chan struct{})}
	c.defs <- []tool.Definition{echo("a").Definition}
	require.Must(h.Attach(t.Context(), "live", c))(t)
	if got := strings.Join(h.Names(), " "); got != "a" {
		t.Fatalf("names %q", got)
	}
	c.changes <- struct{}{}
	c.defs <- []tool.Definition{echo("b").Definition}
	c.changes <- struct{}{} // taken up when the first change has been
	c.defs <- []tool.Definition{echo("b").Definition}
	assert.Equalf(t, strings.Join(h.Names(), " "), "b", "names")
	require.Must(h.Execute(t.Context(), tool.Call{Name: "b"}))(t)
}
