package worktest_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/internal/test/toolserver"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// served is an MCP server that needs a package.
const served = `
import json, sys
import greeting

def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "served", "version": "1"}}
    if method == "tools/list":
        return {"tools": [{"name": "say", "description": "Says a word.", "inputSchema": {"type": "object"}}]}
    return {"content": [{"type": "text", "text": greeting.word}]}

for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer(message["method"], message.get("params"))}), flush=True)
`

// environment makes a virtual environment outside of the workspace, with a package in it, and
// returns its interpreter.
func environment(t *testing.T, p python) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "environment")
	if out, err := exec.CommandContext(t.Context(), p.path, "-m", "venv", "--without-pip", dir).CombinedOutput(); err != nil { //nolint:gosec // of this test
		t.Skipf("python -m venv: %v\n%s", err, out)
	}
	sites, err := filepath.Glob(filepath.Join(dir, "lib", "python*", "site-packages"))
	if err != nil || len(sites) != 1 {
		t.Fatalf("%v, %v", sites, err)
	}
	require.NoError(t, os.WriteFile(filepath.Join(sites[0], "greeting.py"), []byte("word = 'well'\n"), 0o600))
	return filepath.Join(dir, "bin", "python")
}

// What an MCP server of Python reads of its virtual environment comes with its interpreter,
// whether that is the command or what a script names.
func TestPythonServer(t *testing.T) {
	t.Parallel()
	none := []string{}
	sandboxes := map[string]plugin.Sandbox{
		"unset":       {},
		"no net":      {Level: plugin.Strict, Net: none},
		"no programs": {Level: plugin.Strict, Net: none, Exec: none},
		"workspace":   {Level: plugin.Strict, Net: none, Exec: none, Read: []string{tool.Workspace}, Write: none},
		"programs":    {Level: plugin.Strict, Net: none, Read: []string{tool.Workspace}, Write: none, Exec: []string{tool.Any}},
	}
	for version, python := range pythons(t) {
		interpreter := environment(t, python)
		for name, box := range sandboxes {
			t.Run(version+", "+name, func(t *testing.T) {
				t.Parallel()
				root := t.TempDir()
				for name, text := range map[string]string{"server.py": served, "server": "#!" + interpreter + "\n" + served} {
					if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o700); err != nil { //nolint:gosec // a program
						t.Fatal(err)
					}
				}
				for _, command := range []plugin.Command{{Path: interpreter, Args: []string{"server.py"}}, {Path: filepath.Join(root, "server")}} {
					say(t, root, command, box)
				}
			})
		}
	}
}

func say(t *testing.T, root string, command plugin.Command, box plugin.Sandbox) {
	t.Helper()
	settings := plugin.DefaultSettings()
	settings.Sandbox = box
	s := plugin.Server{Name: "served", Connector: &toolserver.Connector{Program: command, Names: "served"}, Identity: command.Path}
	p := pluginrun.NewServer(s, pluginrun.Config{Settings: settings, Root: root, TempDir: t.TempDir(), Logger: hclog.NewNullLogger()})
	defer func() { _ = p.Close(context.Background()) }()
	res, err := p.Execute(t.Context(), tool.Call{ID: "1", Name: "served.say", Arguments: []byte("{}")})
	if err != nil || res.Text() != "well" {
		t.Errorf("%v: %q, %v", command, res.Text(), err)
	}
}
