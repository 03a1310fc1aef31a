package worktest_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// cached is a worker that is a host's only plugin, with a cache below a directory.
func cached(t *testing.T, dir, name, root, caches string, needs *tool.Needs, settings plugin.Settings) func(script string) ran {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
		plugintest.Install(t, dir, name)
	}
	env := require.Must(json.Marshal(needs))(t)
	opts := []host.Option{
		host.WithRoot(root), host.WithPluginCache(caches), host.WithDefaults(func(all *plugin.Settings) {
			all.Sandbox, all.Namespace = settings.Sandbox, settings.Namespace
			all.Env = []string{needsVariable + "=" + string(env), "CACHES=" + caches}
		}), host.WithProtected(filepath.Dir(caches)),
	}
	h := require.Must(host.New(opts...))(t)
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	require.Must(h.Load(t.Context(), dir))(t)
	return func(script string) (out ran) {
		t.Helper()
		args, err := json.Marshal(program{Line: []string{"sh", "-c", script}})
		require.NoError(t, err)
		res, err := h.Execute(t.Context(), tool.Call{Name: "run", Arguments: args})
		if err == nil {
			err = json.Unmarshal(res.Structured, &out)
		}
		require.NoError(t, err)
		return out
	}
}

// A plugin has a cache that lasts, is its own and private, and cannot see that of another, whatever
// else it may read and write, or make one if it declares none. With -short, one that may write anything stands
// for those that may do less.
func TestPluginCache(t *testing.T) {
	t.Parallel()
	none := plugin.NamespaceOff
	for name, c := range map[string]struct {
		needs tool.Needs
		plugin.Settings
	}{
		"declared":           {needs: tool.Needs{Write: []string{tool.Cache}}},
		"reading anything":   {needs: tool.Needs{Read: []string{tool.Any}, Write: []string{tool.Cache}}},
		"writing anything":   {needs: tool.Needs{Write: []string{tool.Any, tool.Cache}}},
		"in the workspace":   {needs: tool.Needs{Write: []string{tool.Workspace, tool.Cache}}},
		"granted":            {needs: tool.Needs{}, Settings: plugin.Settings{Sandbox: plugin.Sandbox{Write: []string{tool.Cache}}}},
		"without namespaces": {needs: tool.Needs{Write: []string{tool.Cache}}, Settings: plugin.Settings{Namespace: none}},
	} {
		if testing.Short() && (name == "reading anything" || name == "in the workspace") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			caches := filepath.Join(root, ".cache", "toolhost", "plugins")
			c.needs.Exec = []string{"sh", "cat", "ls"}
			first := t.TempDir()
			one := cached(t, first, "worker-1", root, caches, &c.needs, c.Settings)
			const write = `printf secret > "$XDG_CACHE_HOME/file" && echo "$XDG_CACHE_HOME"`
			r := one(write)
			cache := strings.TrimSpace(r.Out)
			if filepath.Dir(cache) != caches || !strings.HasPrefix(filepath.Base(cache), "worker-1-") || r.Failed != "" {
				t.Errorf("the first: %+v", r)
			}
			info, err := os.Stat(cache)
			if err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%v, %v", info, err)
			}
			again := cached(t, first, "worker-1", root, caches, &c.needs, c.Settings)
			if r := again(`cat "$XDG_CACHE_HOME/file"`); r.Out != "secret" {
				t.Errorf("the same again: %+v", r)
			}
			for _, name := range []string{"worker-2", "worker-1"} { // one of the same name is another
				two := cached(t, t.TempDir(), name, root, caches, &c.needs, c.Settings)
				for _, script := range []string{"cat " + cache + "/file", "ls " + cache, "echo x > " + cache + "/file", `echo x > "$CACHES/x"`, `cat "$XDG_CACHE_HOME/file"`} {
					if r := two(script); r.Failed == "" {
						t.Errorf("another %s: %s: %+v", name, script, r)
					}
				}
			}
			third := cached(t, t.TempDir(), "worker-3", root, caches, &tool.Needs{Exec: c.needs.Exec}, plugin.Settings{Namespace: c.Namespace})
			if r := third(write); r.Failed == "" {
				t.Errorf("one that declares none: %+v", r)
			}
			if found, _ := filepath.Glob(filepath.Join(caches, "worker-3*")); len(found) > 0 {
				t.Error("one that declares none has one: ", found)
			}
		})
	}
}
