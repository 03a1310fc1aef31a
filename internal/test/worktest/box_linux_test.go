package worktest_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// boxes are the kinds of sandboxes in which work has to be done.
var boxes = map[string]plugin.Settings{
	"strict":             {Sandbox: plugin.Sandbox{Level: plugin.Strict}},
	"best-effort":        {Sandbox: plugin.Sandbox{Level: plugin.BestEffort}},
	"reading anything":   {Sandbox: plugin.Sandbox{Level: plugin.Strict, Read: []string{tool.Any}}},
	"undeclared":         {},
	"without namespaces": {Sandbox: plugin.Sandbox{Level: plugin.BestEffort}, Namespace: plugin.NamespaceOff},
}

// place is where work is done.
type place struct {
	root, cache string
	namespaces  bool // of its own
	undeclared  bool
	plugin      *pluginrun.Plugin
}

// inDay returns whether a test in a sandbox is run with -short: at strict, as what is refused there is
// refused by a mechanism of each kind. All kinds take five minutes of the processors.
func inDay(box string) bool { return !testing.Short() || box == "strict" }

// inBoxes runs a test in each kind of sandbox, with what is changed of it.
func inBoxes(t *testing.T, needs *tool.Needs, test func(t *testing.T, p *place), change ...func(*plugin.Settings)) {
	t.Helper()
	for name, settings := range boxes {
		if !inDay(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			declared := needs
			if name == "undeclared" {
				declared = nil
			}
			for _, f := range change {
				f(&settings)
			}
			p := open(t, worker, declared, settings)
			p.undeclared = declared == nil
			test(t, p)
		})
	}
}

// open starts the plugin in a workspace of its own.
func open(t *testing.T, mode plugintest.Mode, needs *tool.Needs, settings plugin.Settings) *place {
	t.Helper()
	found, skipped, err := pluginrun.Discover(plugintest.Dir(t, mode))
	if err != nil || len(found) != 1 {
		t.Fatalf("Discover: %v, skipped %v, error %v", found, skipped, err)
	}
	return start(t, found[0], needs, settings)
}

func start(t *testing.T, c plugin.Candidate, needs *tool.Needs, settings plugin.Settings) *place {
	t.Helper()
	p := prepare(t, c, needs, settings)
	if err := p.plugin.Ready(t.Context()); err != nil {
		if settings.Sandbox.Level == plugin.Strict && strings.Contains(err.Error(), "does not enforce") {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	return p
}

// prepare makes what start starts.
func prepare(t *testing.T, c plugin.Candidate, needs *tool.Needs, settings plugin.Settings) *place {
	t.Helper()
	p := &place{root: t.TempDir(), cache: t.TempDir(), namespaces: settings.Namespace != plugin.NamespaceOff}
	settings.StartTimeout = ceiling
	if needs != nil {
		text := require.Must(json.Marshal(needs))(t)
		settings.Env = append(settings.Env, needsVariable+"="+string(text))
	}
	sockets, err := os.MkdirTemp("/tmp", "work-") // t.TempDir and TMPDIR may be too long for a socket
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	p.plugin = pluginrun.New(c, pluginrun.Config{
		Settings: settings, Root: p.root, TempDir: sockets, Logger: hclog.NewNullLogger(),
		CacheDir: func() string { return p.cache },
	})
	t.Cleanup(func() {
		if err := p.plugin.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return p
}

// file makes a file of the workspace.
func (p *place) file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(p.root, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // some are programs
		t.Fatal(err)
	}
	return path
}

// call calls a tool of the plugin.
func call[Out any](t *testing.T, p *place, name string, in any) (out Out) {
	t.Helper()
	args, err := json.Marshal(in)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), ceiling)
	defer cancel()
	res, err := p.plugin.Execute(ctx, tool.Call{ID: "test", Name: name, Arguments: args})
	if err == nil && res.IsError {
		t.Fatalf("%s: %s", name, res.Text())
	}
	if err == nil {
		err = json.Unmarshal(res.Structured, &out)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

// run runs a program as the plugin's child, which has to succeed, and returns what it printed.
func (p *place) run(t *testing.T, line ...string) string {
	t.Helper()
	return p.runWith(t, nil, line...)
}

func (p *place) runWith(t *testing.T, env []string, line ...string) string {
	t.Helper()
	r := call[ran](t, p, "run", program{Line: line, Env: env})
	if r.Failed != "" {
		t.Fatalf("%s: %s\n%s", strings.Join(line, " "), r.Failed, r.Out)
	}
	return r.Out
}

// refused runs a program as the plugin's child, which has to fail.
func (p *place) refused(t *testing.T, line ...string) {
	t.Helper()
	if p.undeclared {
		return
	}
	if r := call[ran](t, p, "run", program{Line: line}); r.Failed == "" {
		t.Errorf("%s: it succeeds, though it was not declared\n%s", strings.Join(line, " "), r.Out)
	}
}
