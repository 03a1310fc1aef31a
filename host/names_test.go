package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/plugintest"
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
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return all, err
}

// A file that is put next to a plugin takes none of its tools, though it comes before it,
// as long as the plugin's file is there: whether it runs, is disabled or does not start.
func TestNamesStayWithTheirPlugin(t *testing.T) {
	t.Parallel()
	for name, cached := range map[string]bool{"started": false, "remembered": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, kept := plugintest.Dir(t, "fixture-good"), host.WithNames(filepath.Join(t.TempDir(), "toolhost", "names.json"))
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
			if err := os.Rename(good, aside); err != nil {
				t.Fatal(err)
			}
			is("gone", "fixture-0evil")
			if err := os.Rename(aside, good); err != nil {
				t.Fatal(err)
			}
			is("back, too late", "fixture-0evil")
		})
	}
}

// Without WithNames, the first has them, as before.
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
	dir, opt := plugintest.Dir(t), host.WithNames(filepath.Join(t.TempDir(), "names.json"))
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
	path := filepath.Join(t.TempDir(), "names.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := host.New(host.WithNames(path)); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("New: %v", err)
	}
}
