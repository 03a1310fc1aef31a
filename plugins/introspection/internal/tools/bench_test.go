package tools

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// write puts files below a directory.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
}

// bench is a plugin with a workspace of its own.
type bench struct {
	workspace *check.Workspace
	root      string
	set       *tool.Set
	defs      map[string]tool.Definition
	outputs   map[string]*jsonschema.Resolved // schemas of what they return
}

func open(t testing.TB, root string) *bench {
	t.Helper()
	resolved, err := filepath.EvalSymlinks(root)
	require.NoError(t, err)
	b := &bench{
		workspace: &check.Workspace{}, root: resolved,
		defs: map[string]tool.Definition{}, outputs: map[string]*jsonschema.Resolved{},
	}
	require.NoError(t, b.workspace.Open(root))
	if b.set, err = tool.NewSet(All(b.workspace)...); err != nil {
		t.Fatal(err)
	}
	defs := require.Must(b.set.List(t.Context()))(t)
	for _, d := range defs {
		b.defs[d.Name] = d
		if d.OutputSchema != nil {
			var s jsonschema.Schema
			require.NoError(t, json.Unmarshal(d.OutputSchema, &s))
			b.outputs[d.Name] = require.Must(s.Resolve(nil))(t)
		}
	}
	return b
}

// fresh is a workspace with files that the test may change.
func fresh(t testing.TB, files map[string]string) *bench {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, files)
	return open(t, dir)
}

// benches are the workspaces that tests share, by their go.mod.
var benches = struct {
	sync.Mutex
	open map[string]*bench
}{open: map[string]*bench{}}

// shared is a workspace for tests that change nothing: they share what is loaded.
func shared(t testing.TB, files map[string]string) *bench {
	t.Helper()
	benches.Lock()
	defer benches.Unlock()
	module := files["go.mod"]
	if benches.open[module] == nil {
		dir := require.Must(os.MkdirTemp("", "shared"))(t)
		write(t, dir, files)
		benches.open[module] = open(t, dir)
	}
	return benches.open[module]
}

func sharedShop(t testing.TB) *bench {
	t.Helper()
	return shared(t, shop)
}

func TestMain(m *testing.M) {
	_ = os.Unsetenv("CGO_ENABLED") // some tests are of packages with C
	code := m.Run()
	for _, b := range benches.open {
		_ = os.RemoveAll(b.root)
	}
	os.Exit(code)
}

// call runs a tool as a host would, and holds every answer to what the tool
// promises: structured output that fits its schema, and no machine paths.
func (b *bench) call(t testing.TB, ctx context.Context, name string, args any) (tool.Result, error) {
	t.Helper()
	raw := require.Must(json.Marshal(args))(t)
	res, err := b.set.Execute(ctx, tool.Call{Name: name, Arguments: raw})
	text := res.Text()
	if err != nil {
		text = err.Error()
	}
	for _, dir := range machineDirs() {
		assert.NotContainsf(t, text, dir+"/", "%s %s: the answer names a directory of the machine", name, raw)
	}
	assert.NotContainsf(t, text, b.root, "%s %s: the answer names the workspace's directory", name, raw)
	if output := b.outputs[name]; err == nil && !res.IsError && output != nil {
		var value any
		require.NoError(t, json.Unmarshal(res.Structured, &value))
		if err := output.Validate(value); err != nil {
			t.Errorf("the answer does not fit the output schema: %v", err)
		}
	}
	return res, err
}

var machineDirs = sync.OnceValue(func() []string {
	out, err := exec.Command("go", "env", "GOROOT", "GOMODCACHE", "GOCACHE").Output()
	if err != nil {
		return nil
	}
	return strings.Fields(string(out))
})

// decode runs a tool that must succeed.
func decode[T any](t testing.TB, b *bench, name string, args any) T {
	t.Helper()
	res, err := b.call(t, t.Context(), name, args)
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	if res.IsError {
		t.Fatalf("%s %v: %s", name, args, res.Text())
	}
	var out T
	require.NoError(t, json.Unmarshal(res.Structured, &out))
	return out
}

func (b *bench) symbolOf(t testing.TB, symbol, pkg string) description {
	t.Helper()
	return decode[description](t, b, "describe_symbol", describeIn{Symbol: symbol, Package: pkg})
}

func (b *bench) listingOf(t testing.TB, pkg string, internal bool) listing {
	t.Helper()
	return decode[listing](t, b, "list_package_symbols", listIn{Package: pkg, IncludeInternal: internal})
}

// failing runs a tool that must fail in its own terms, and gives the text.
func (b *bench) failing(t testing.TB, name string, args any) string {
	t.Helper()
	res, err := b.call(t, t.Context(), name, args)
	if err != nil {
		t.Fatalf("%s %v: a Go error where the tool's own failure was due: %v", name, args, err)
	}
	if !res.IsError {
		t.Fatalf("%s %v: succeeded: %s", name, args, res.Text())
	}
	return strings.TrimPrefix(res.Text(), "tool "+name+" execution failed: ")
}
