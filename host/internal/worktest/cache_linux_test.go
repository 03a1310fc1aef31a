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
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// cached is a worker that is a host's only plugin, with a cache below a directory.
func cached(t *testing.T, name, root, caches string, needs *tool.Needs, settings plugin.Settings) func(script string) ran {
	t.Helper()
	dir := t.TempDir()
	plugintest.Install(t, dir, name)
	env, err := json.Marshal(needs)
	if err != nil {
		t.Fatal(err)
	}
	opts := []host.Option{
		host.WithRoot(root), host.WithPluginCache(caches), host.WithSandbox(settings.Sandbox), host.WithProtected(filepath.Dir(caches)),
		host.WithPluginEnv(needsVariable+"="+string(env), "CACHES="+caches), host.WithNamespace(settings.Namespace),
	}
	h, err := host.New(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	if _, err := h.Load(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return func(script string) (out ran) {
		t.Helper()
		args, err := json.Marshal(program{Line: []string{"sh", "-c", script}})
		if err != nil {
			t.Fatal(err)
		}
		res, err := h.Execute(t.Context(), tool.Call{Name: "run", Arguments: args})
		if err == nil {
			err = json.Unmarshal(res.Structured, &out)
		}
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

// A plugin has a cache that lasts, is its own and private, and cannot see that of another, whatever
// else it may read and write, or make one if it declares none.
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
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			caches := filepath.Join(root, ".cache", "toolhost", "plugins")
			c.needs.Exec = []string{"sh", "cat", "ls"}
			one := cached(t, "worker-1", root, caches, &c.needs, c.Settings)
			const write = `printf secret > "$XDG_CACHE_HOME/file" && echo "$XDG_CACHE_HOME"`
			if r := one(write); strings.TrimSpace(r.Out) != filepath.Join(caches, "worker-1") || r.Failed != "" {
				t.Errorf("the first: %+v", r)
			}
			info, err := os.Stat(filepath.Join(caches, "worker-1"))
			if err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%v, %v", info, err)
			}
			again := cached(t, "worker-1", root, caches, &c.needs, c.Settings)
			if r := again(`cat "$XDG_CACHE_HOME/file"`); r.Out != "secret" {
				t.Errorf("the same again: %+v", r)
			}
			two := cached(t, "worker-2", root, caches, &c.needs, c.Settings)
			for _, script := range []string{`cat "$CACHES/worker-1/file"`, `ls "$CACHES/worker-1"`, `echo x > "$CACHES/worker-1/file"`, `echo x > "$CACHES/x"`} {
				if r := two(script); r.Failed == "" {
					t.Errorf("the second: %s: %+v", script, r)
				}
			}
			third := cached(t, "worker-3", root, caches, &tool.Needs{Exec: c.needs.Exec}, plugin.Settings{Namespace: c.Namespace})
			if r := third(write); r.Failed == "" {
				t.Errorf("one that declares none: %+v", r)
			}
			if _, err := os.Stat(filepath.Join(caches, "worker-3")); err == nil {
				t.Error("one that declares none has one")
			}
		})
	}
}
