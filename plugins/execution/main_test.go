package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/execution/internal/compile"
	"github.com/toolhost/toolhost/plugins/execution/internal/gocmd"
	"github.com/toolhost/toolhost/plugins/execution/internal/process"
	"github.com/toolhost/toolhost/plugins/execution/internal/session"
	"github.com/toolhost/toolhost/plugins/internal/workspacetest"
	"github.com/toolhost/toolhost/pluginsdk"
)

// links skips, by day, a test of a dozen programs, each of which is compiled and linked: what they show
// changes only with the plugin, and then make test runs them (internal/test/changed).
func links(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it links many programs: make execution runs it")
	}
}

// The test binary launches programs as the plugin does.
func TestMain(m *testing.M) {
	process.BecomeProgram()
	code := m.Run()
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir)
	}
	os.Exit(code)
}

// plugin is the plugin's tools on a workspace.
type plugin struct{ workspacetest.Tools }

type args = workspacetest.Args

// listed has what the go command said of the standard library: once for all tests.
var listed gocmd.Cache

func evaluatorAt(t testing.TB, root, config string) *evaluator {
	t.Helper()
	e := newEvaluator(&listed)
	require.NoError(t, e.configure(pluginsdk.Config{Root: root, JSON: json.RawMessage(config)}))
	return e
}

func open(t testing.TB, root, config string) plugin {
	t.Helper()
	return plugin{workspacetest.New(t, root, tools(evaluatorAt(t, root, config))...)}
}

// linked links a form in the shop, and returns what runs it, which lets it start others.
func linked(t *testing.T, config, text string) (path string, r runner) {
	t.Helper()
	e := evaluatorAt(t, sharedShop(t).Root, config)
	c := e.compiler.Start(&session.Session{}, t.TempDir())
	require.NoError(t, c.Check(t.Context(), compile.Request{Form: text}))
	r = e.runner
	r.limits.Confine = false
	return require.Must(c.Build(t.Context()))(t), r
}

// fresh returns the plugin on a workspace with files.
func fresh(t testing.TB, files map[string]string, config ...string) plugin {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		workspacetest.WriteFile(t, filepath.Join(root, name), content)
	}
	return open(t, root, strings.Join(config, ""))
}

// decode returns the structured result of a call, which may be a failure of the tool.
func decode[T any](t testing.TB, p plugin, name string, arguments args) T {
	t.Helper()
	res, err := p.Call(t, name, arguments)
	if err != nil {
		t.Fatalf("%s %v: %v", name, arguments, err)
	}
	var out T
	if err := json.Unmarshal(res.Structured, &out); err != nil {
		t.Fatalf("%s %v: %s: %v", name, arguments, res.Text(), err)
	}
	return out
}

// eval evaluates a form, whatever comes of it.
func (p plugin) eval(t testing.TB, form string, pkg ...string) evaluation {
	t.Helper()
	arguments := args{"form": form}
	if len(pkg) > 0 {
		arguments["package"] = pkg[0]
	}
	return decode[evaluation](t, p, "eval_form", arguments)
}

// must evaluates a form that has to go well.
func (p plugin) must(t testing.TB, form string, pkg ...string) evaluation {
	t.Helper()
	out := p.eval(t, form, pkg...)
	if !out.OK {
		t.Fatalf("%s: %s", form, out.Text())
	}
	return out
}

// is checks a form's only value and its type.
func (p plugin) is(t testing.TB, form, value, typ string, pkg ...string) {
	t.Helper()
	out := p.must(t, form, pkg...)
	if len(out.Values) != 1 || out.Values[0].Value != value || out.Values[0].Type != typ {
		t.Errorf("%s gave %+v, want %s (%s)", form, out.Values, value, typ)
	}
}
