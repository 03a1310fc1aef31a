package worktest_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/binaries"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// shipped is where the plugins of this repository are, each in a directory of its own, and their caches,
// one of each workspace.
type shipped struct{ plugins, caches string }

// shippedVariable has the directory of the plugins, for the tests as another user.
const shippedVariable = "WORKTEST_SHIPPED"

var (
	shippedMu   sync.Mutex
	shippedHere shipped
)

func shippedPlugins(t *testing.T) shipped {
	t.Helper()
	shippedMu.Lock()
	defer shippedMu.Unlock()
	if shippedHere.plugins != "" {
		return shippedHere
	}
	dir := require.Must(os.MkdirTemp("", "worktest-shipped-"))(t)
	atEnd = append(atEnd, func() { _ = os.RemoveAll(dir) })
	s := shipped{filepath.Join(dir, "plugins"), filepath.Join(dir, "caches")}
	if there := os.Getenv(shippedVariable); there != "" {
		s.plugins = there
	} else {
		require.NoError(t, errors.Join(os.Chmod(dir, 0o755), os.Mkdir(s.plugins, 0o755))) //nolint:gosec // another user has to get there
		built := binaries.Build(t, "plugins/fs", "plugins/buffer", "plugins/introspection", "plugins/execution")
		for _, name := range []string{"fs", "buffer", "introspection", "execution"} {
			require.NoError(t, os.Mkdir(filepath.Join(s.plugins, name), 0o755)) //nolint:gosec // as above
			binaries.Install(t, filepath.Join(built, name), filepath.Join(s.plugins, name, name))
		}
	}
	shippedHere = s
	return s
}

// ship returns a host with plugins that toolhost ships, at strict.
func ship(t *testing.T, root string, names []string, opts ...host.Option) *host.Host {
	t.Helper()
	s := shippedPlugins(t)
	h, err := host.New(append([]host.Option{
		host.WithRoot(root), host.WithPluginCache(s.caches), host.WithDefaults(func(all *plugin.Settings) {
			all.Sandbox = plugin.Sandbox{Level: plugin.Strict}
		}),
		host.WithProtected(filepath.Join(s.plugins, "..", "missing")), // is open to a plugin that declares nothing
	}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	for _, name := range names {
		if _, err := h.Load(t.Context(), filepath.Join(s.plugins, name)); err != nil {
			if strings.Contains(err.Error(), "does not enforce") {
				t.Skip(err)
			}
			t.Fatal(err)
		}
	}
	return h
}

var yes = policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
	return policy.Decision{Verdict: policy.Allow}, nil
})

// ask calls a tool as a caller that is granted everything.
func ask(t *testing.T, h *host.Host, name string, args map[string]any) (tool.Result, error) {
	t.Helper()
	text := require.Must(json.Marshal(args))(t)
	s := h.Session(host.WithGrants(tool.FSRead, tool.FSWrite, tool.Exec), host.WithApprover(yes))
	return s.Execute(t.Context(), tool.Call{Name: name, Arguments: text})
}

// well calls a tool that has to succeed, and returns its text.
func well(t *testing.T, h *host.Host, name string, args map[string]any) string {
	t.Helper()
	res, err := ask(t, h, name, args)
	if err != nil || res.IsError {
		t.Fatalf("%s: %v %s", name, err, res.Text())
	}
	return res.Text() + string(res.Structured)
}

// workspace makes a module that has a dependency and C in it.
func workspace(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	files := map[string]string{
		"go.mod": "module example.test/small\n\ngo 1.24\n\nrequire example.test/dep v1.0.0\n", "main.go": mainSource, "main_test.go": testSource,
		"c/c.go": cgoSource, "c/c_test.go": cgoTest,
		".git": "gitdir: /nowhere\n", // as of a worktree, whose repository is elsewhere
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	g := require.Must(gophers())(t)
	tidy := exec.CommandContext(t.Context(), "go", "mod", "tidy")
	tidy.Dir, tidy.Env = root, append(os.Environ(), g.env...)
	if out, err := tidy.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return root
}

// goEnv has the plugins use the modules of the tests, and the flags of whoever runs them: what was compiled
// with the same ones is in the user's cache, which the plugins read.
func goEnv(t *testing.T) host.Option {
	t.Helper()
	g := require.Must(gophers())(t)
	flags := strings.TrimSpace(os.Getenv("GOFLAGS") + " -mod=mod")
	return host.WithDefaults(func(all *plugin.Settings) {
		all.Env = append(all.Env, "GOMODCACHE="+g.modules, "GOFLAGS="+flags, "GONOSUMDB=*")
	})
}

func TestShippedFiles(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	h := ship(t, root, []string{"fs", "buffer"})
	well(t, h, "fs.write", map[string]any{"path": "a/b.txt", "content": "one\n"})
	well(t, h, "propose_file_edit", map[string]any{"path": "a/b.txt", "original": "one", "modified": "two", "description": "d"})
	if got := well(t, h, "fs.read", map[string]any{"path": "a/b.txt"}); !strings.HasPrefix(got, "two") {
		t.Errorf("it reads %q", got)
	}
	require.NoError(t, os.Symlink(outside, filepath.Join(root, "out")))
	if res, err := ask(t, h, "fs.write", map[string]any{"path": "out/x", "content": ""}); err == nil && !res.IsError {
		t.Errorf("it writes outside: %s", res.Text())
	}
}

// The go command works in the sandbox that introspection declares, with modules, C and a working
// tree whose repository is elsewhere.
func TestShippedIntrospection(t *testing.T) {
	t.Parallel()
	h := ship(t, workspace(t), []string{"introspection"}, goEnv(t))
	for symbol, want := range map[string]string{
		"main": `"package":"example.test/small"`, "Three": "c/c.go", "dep.Word": `"value":"\"dependency\""`, "os.Getenv": `"package":"os"`,
	} {
		assert.Containsf(t, well(t, h, "describe_symbol", map[string]any{"symbol": symbol}), want, "%s", symbol)
	}
	well(t, h, "show_source", map[string]any{"symbol": "dep.Word"})
	well(t, h, "who_references", map[string]any{"variable": "dep.Word"})
	if testing.Short() {
		return // the standard library is compiled for Windows, which takes 40 s: .ci/long does it
	}
	res, err := ask(t, h, "describe_symbol", map[string]any{"symbol": "main", "goos": "windows"})
	if err != nil || res.IsError {
		t.Errorf("for windows: %v, %s", err, res.Text())
	}
}

// evaluated is what eval_form answers.
type evaluated struct {
	Values []struct{ Value string }
	Stdout string
}

func evaluate(t *testing.T, h *host.Host, form string) (out evaluated) {
	t.Helper()
	res, err := ask(t, h, "eval_form", map[string]any{"form": form})
	if err == nil {
		err = json.Unmarshal(res.Structured, &out)
	}
	if err != nil || res.IsError {
		t.Fatalf("%s: %v %s", form, err, res.Text())
	}
	return out
}

// Forms and tests are compiled and run in the sandbox that execution declares. With -short, a form without
// C, and tests with it.
func TestShippedExecution(t *testing.T) {
	t.Parallel()
	h := ship(t, workspace(t), []string{"execution"}, goEnv(t))
	// In one program, since linking is what takes the time.
	refused := []struct{ err, want string }{
		{`exec.Command("true").Run()`, "operation not permitted"},
		{`exec.Command("git", "version").Run()`, "operation not permitted"},
		{`second(net.Dial("tcp", "127.0.0.1:1"))`, "operation not permitted"},
		{`os.WriteFile("new", nil, 0o600)`, ""},
		{`os.WriteFile("/tmp/new", nil, 0o600)`, "permission denied"},
		{`os.WriteFile(cache+"/new", nil, 0o600)`, ""},
		{`second(os.ReadDir(cache))`, "permission denied"},
		{`second(os.ReadFile(os.Getenv("HOME") + "/.config/go/env"))`, ""},
	}
	form := `second := func(_ any, err error) error { return err }
		cache, _ := os.UserCacheDir()
		f, err := os.CreateTemp("", "x")
		b, readErr := os.ReadFile("main.go")
		fmt.Println(f != nil, err, len(b) > 0, readErr)
		`
	for _, r := range refused {
		form += "fmt.Println(" + r.err + ")\n"
	}
	got := evaluate(t, h, form+"dep.Word")
	lines := strings.Split(got.Stdout, "\n")
	if lines[0] != "true <nil> true <nil>" || len(got.Values) != 1 || got.Values[0].Value != `"dependency"` {
		t.Errorf("what it may do: %+v", got)
	}
	for i, r := range refused {
		if got := lines[min(i+1, len(lines)-1)]; !strings.Contains(got, r.want) || !strings.Contains(got, "permi") && !strings.Contains(got, "read-only") && !strings.Contains(got, "no such file") {
			t.Errorf("%s: %s", r.err, got)
		}
	}
	packages := []string{"./c"}
	if !testing.Short() {
		well(t, h, "eval_form", map[string]any{"form": "Three()", "package": "./c"})
		packages = append(packages, ".")
	}
	for _, pkg := range packages {
		assert.Containsf(t, well(t, h, "run_tests", map[string]any{"package": pkg}), `"ok":true`, "the tests of %s", pkg)
	}
	well(t, h, "check_package", map[string]any{"package": "./..."})
}

// What tests of one workspace write into the build cache, no other workspace has: it would run it.
func TestShippedTestsKeepTheirCache(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds two workspaces with caches of their own: TestPluginCache looks at the names by day")
	}
	for _, name := range []string{"first", "second"} {
		root := t.TempDir()
		for file, text := range map[string]string{"go.mod": "module example.test/" + name + "\n\ngo 1.24\n", "x_test.go": poisonTest} {
			require.NoError(t, os.WriteFile(filepath.Join(root, file), []byte(text), 0o600))
		}
		h := ship(t, root, []string{"execution"}, goEnv(t))
		for _, run := range []string{"nothing", "poison"} { // so what it has written is there when it runs again
			if got := well(t, h, "run_tests", map[string]any{"verbose": true, "count": 1, "package": "."}); !strings.Contains(got, "found "+run) {
				t.Errorf("%s, which is to find %s: %s", name, run, got)
			}
		}
	}
}

// poisonTest says what an earlier run left in the cache.
const poisonTest = `package x

import ("os"; "testing")

func TestCache(t *testing.T) {
	path := os.Getenv("XDG_CACHE_HOME") + "/go-build/00/poison"
	text, _ := os.ReadFile(path)
	if len(text) == 0 { text = []byte("nothing") }
	err := os.WriteFile(path, []byte("poison"), 0o600)
	t.Log("found " + string(text), err)
}
`
