package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// owners are the plugins that have tools, and what loading them says.
func owners(t *testing.T, dir string, opts ...host.Option) (all []string, err error) {
	t.Helper()
	h := newHost(t, opts...)
	_, err = h.Load(t.Context(), dir)
	seen := map[string]bool{}
	for _, x := range h.Tools(host.Filter{}) {
		if !seen[x.Owner] {
			seen[x.Owner] = true
			all = append(all, x.Owner)
		}
	}
	assert.NoError(t, h.Close(t.Context()))
	return all, err
}

// A file that is put next to a plugin takes none of its tools, though it comes before it,
// as long as the plugin's file is there: whether it runs, is disabled or does not start.
func TestNamesStayWithTheirPlugin(t *testing.T) {
	t.Parallel()
	for name, cached := range map[string]bool{"started": false, "remembered": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, kept := plugintest.Dir(t, "fixture-good"), host.WithState(filepath.Join(t.TempDir(), "toolhost"))
			opts := []host.Option{kept}
			if cached {
				opts = append(opts, host.WithCache(t.TempDir()))
			}
			is := func(when string, want ...string) {
				t.Helper()
				got, err := owners(t, dir, opts...)
				if strings.Join(got, " ") != strings.Join(want, " ") {
					t.Errorf("%s: the tools belong to %q, want %q (%v)", when, got, want, err)
				}
				if _, gone := os.Stat(filepath.Join(dir, "fixture-good")); when != "alone" && gone == nil && !errors.Is(err, tool.ErrAlreadyExists) {
					t.Errorf("%s: %v", when, err)
				}
			}
			is("alone", "fixture-good")
			plugintest.Install(t, dir, "fixture-0evil")
			is("next to another", "fixture-good")
			is("next to another again", "fixture-good")
			without := host.WithPluginSettings(func(name string, s *plugin.Settings) {
				s.Enabled = name != "fixture-good"
			})
			opts = append(opts, without)
			is("disabled")
			opts = opts[:len(opts)-1]
			good, aside := filepath.Join(dir, "fixture-good"), filepath.Join(t.TempDir(), "good")
			require.NoError(t, os.Rename(good, aside))
			is("gone", "fixture-0evil")
			require.NoError(t, os.Rename(aside, good))
			is("back, too late", "fixture-0evil")
		})
	}
}

// Without WithState, the first has them, as before.
func TestNamesAreNotRememberedByThemselves(t *testing.T) {
	t.Parallel()
	dir := plugintest.Dir(t, "fixture-good")
	if got, err := owners(t, dir); err != nil || len(got) != 1 {
		t.Fatalf("%q, %v", got, err)
	}
	plugintest.Install(t, dir, "fixture-0evil")
	if got, _ := owners(t, dir); len(got) != 1 || got[0] != "fixture-0evil" {
		t.Errorf("the tools belong to %q", got)
	}
}

// A plugin that says that it serves a tool no more gives its name up, at once, and keeps
// its others.
func TestNamesAreGivenUp(t *testing.T) {
	t.Parallel()
	dir, opt := plugintest.Dir(t), host.WithState(t.TempDir())
	plugintest.Deploy(t, dir, "good", "1-more")
	if got, err := owners(t, dir, opt); err != nil || len(got) != 1 {
		t.Fatalf("%q, %v", got, err)
	}
	plugintest.Deploy(t, dir, "good", "2")
	plugintest.Deploy(t, dir, "0new", "1-more")
	h := newHost(t, opt)
	_, err := h.Load(t.Context(), dir)
	count, _ := h.Get("versioned.count")
	more, _ := h.Get("versioned.more")
	if count.Owner != "good" || more.Owner != "0new" || !errors.Is(err, tool.ErrAlreadyExists) {
		t.Errorf("versioned.count belongs to %q, versioned.more to %q: %v", count.Owner, more.Owner, err)
	}
}

// A record that cannot be understood is not taken for a missing one.
func TestNamesAreNotForgottenByDamage(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(path, "plugins.json"), []byte("{"), 0o600))
	if _, err := host.New(host.WithState(path)); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("New: %v", err)
	}
}

// ownersOf are the owners of the tools of a host, by name.
func ownersOf(h *host.Host) map[string]string {
	out := map[string]string{}
	for _, x := range h.Tools(host.Filter{}) {
		out[x.Name] = x.Owner
	}
	return out
}

// Names go to the plugin that wanted them when the one that has them is withdrawn, serves
// them no more or is unregistered; until then its status tells who has them.
func TestNamesComeBack(t *testing.T) {
	t.Parallel()
	for name, free := range map[string]func(t *testing.T, h *host.Host, dir string){
		"withdrawn": func(t *testing.T, h *host.Host, dir string) {
			assert.NoError(t, errors.Join(os.Remove(filepath.Join(dir, "a")), h.Sync(t.Context(), dir)))
		},
		"gives them up": func(t *testing.T, h *host.Host, dir string) {
			plugintest.Deploy(t, dir, "a", "2") // without versioned.more
			if err := h.Sync(t.Context(), dir); !errors.Is(err, tool.ErrAlreadyExists) && err != nil {
				t.Error(err)
			}
		},
		"unregistered": func(_ *testing.T, h *host.Host, _ string) { h.Unregister("a") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := plugintest.Dir(t)
			plugintest.Deploy(t, dir, "a", "1-more")
			plugintest.Deploy(t, dir, "b", "1-more")
			h := newHost(t, host.WithState(t.TempDir()))
			if n, err := h.Load(t.Context(), dir); n != 3 || !errors.Is(err, tool.ErrAlreadyExists) {
				t.Fatalf("%d tools, %v", n, err)
			}
			if lost := pluginOf(h, "b").Lost; len(lost) != 3 || lost[0].To != "a" || len(pluginOf(h, "a").Lost) != 0 {
				t.Errorf("lost: %+v", lost)
			}
			free(t, h, dir)
			got := ownersOf(h)
			if len(got) != 3 || got["versioned.more"] != "b" {
				t.Errorf("the tools belong to %v", got)
			}
			if lost := pluginOf(h, "b").Lost; (len(lost) == 0) != (name != "gives them up") {
				t.Errorf("lost in the end: %+v", lost)
			}
		})
	}
}

// Two files that exchange their names exchange their tools, and lose none; so does a host
// that starts later.
func TestPluginsExchangeNames(t *testing.T) {
	t.Parallel()
	dir, names := plugintest.Dir(t), host.WithState(t.TempDir())
	plugintest.Deploy(t, dir, "a", "1-more")
	crasher := plugintest.Install(t, t.TempDir(), string(plugintest.Crasher))
	script := "#!/bin/sh\nexec '" + crasher + "'\n"
	if err := os.WriteFile(filepath.Join(dir, "b"), []byte(script), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	h := newHost(t, names)
	before, err := h.Load(t.Context(), dir)
	require.NoError(t, err)
	at := func(name string) string { return filepath.Join(dir, name) }
	err = errors.Join(os.Rename(at("a"), at(".c")), os.Rename(at("b"), at("a")), os.Rename(at(".c"), at("b")))
	require.NoError(t, err)
	_ = h.Sync(t.Context(), dir) // may tell of names that were not free yet
	for _, h := range []*host.Host{h, newHost(t, names)} {
		n, err := h.Load(t.Context(), dir)
		got := ownersOf(h)
		if err != nil || n != before || got["versioned.more"] != "b" || got["crash.pid"] != "a" {
			t.Errorf("%d tools of %d, %v: %v", n, before, err, got)
		}
		for _, s := range h.Plugins() {
			assert.Equalf(t, len(s.Lost), 0, "%s lost %+v", s.Name, s.Lost)
		}
	}
}
