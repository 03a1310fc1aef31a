package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// The README's line installs the command and the plugins from a module proxy, and the command
// finds the plugins.
func TestGoInstall(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes minutes to build all: .ci/long runs it")
	}
	repository := require.Must(filepath.Abs(filepath.Join("..", "..")))(t)
	readme := require.Must(os.ReadFile(filepath.Join(repository, "README.md")))(t)
	line := regexp.MustCompile("(?s)no-run: TestGoInstall runs it\n(.*?)```").FindSubmatch(readme)
	if line == nil {
		t.Fatal("README.md does not say how to install by go install")
	}
	newWorld(t) // the proxy is where its programs are
	home := t.TempDir()
	env := append(moduleEnv(t, repository), "HOME="+home, "PATH="+os.Getenv("PATH"), "TMPDIR="+t.TempDir(),
		"GOPATH="+filepath.Join(home, "go"), "TOOLHOST_SOCKET=off")
	project := filepath.Join(home, "project") // in the home itself, plugins would lie in the workspace, and wait for a yes
	require.NoError(t, os.Mkdir(project, 0o700))
	run := func(name string, args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Env = project, env
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
		return out
	}
	run("sh", "-euc", string(line[1]))
	var tools []struct{ Plugin string }
	require.NoError(t, json.Unmarshal(run(filepath.Join(home, "go", "bin", "toolhost"), "tools", "--json"), &tools))
	plugins := map[string]bool{}
	for _, x := range tools {
		plugins[x.Plugin] = true
	}
	for _, name := range shipped {
		if !plugins[name] {
			t.Errorf("%s is not installed: %v", name, plugins)
		}
	}
	if len(plugins) != len(shipped) {
		t.Errorf("the plugins are %s", strings.Join(shipped, ", "))
	}
}
