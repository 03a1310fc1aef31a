package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/internal/trust"
)

// mcpServer is an entry of a file of servers, which starts testdata/mcpserver.
func mcpServer(words ...string) map[string]any {
	return map[string]any{"command": filepath.Join(built.dir, "mcpserver"), "args": words}
}

// mcpConfig writes a file of servers into the workspace, and returns the flag that names it.
func (w *world) mcpConfig(servers map[string]any) string {
	w.t.Helper()
	text := require.Must(json.Marshal(map[string]any{"mcpServers": servers}))(w.t)
	w.write("mcp.json", string(text))
	path := filepath.Join(w.root, "mcp.json")
	require.NoError(w.t, trust.In(filepath.Join(w.state, "toolhost")).Trust(path, trust.Sum(text)))
	return "--mcp-config=" + path
}

// mcpServers returns the servers as plugins --kind mcp has them, by name.
func (w *world) mcpServers(args ...string) map[string]listedPlugin {
	w.t.Helper()
	var list pluginList
	w.run(append([]string{"plugins", "--kind", "mcp", "--json"}, args...)...).exits(exit.Done).json(&list)
	out := map[string]listedPlugin{}
	for _, one := range list.Plugins {
		out[one.Name] = one
	}
	return out
}

// Servers of a file are mounted, each on its own: what is wrong with one costs that one.
func TestMCPServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	unset := mcpServer("echo")
	unset["env"] = map[string]any{"A": "${NOT_SET}"}
	off := mcpServer("echo")
	off["disabled"] = true
	config := w.mcpConfig(map[string]any{
		"one": mcpServer("echo", "whoami"), "two": mcpServer("echo", "fail"), "broken": []int{}, "unset": unset, "off": off,
		"gone": map[string]any{"command": "no-such-program"}, "dies": mcpServer("-die", "echo"), "player": mcpServer("echo"),
	})
	list := w.run("plugins", "--kind", "mcp", "--json", config).says(
		"plugin broken did not start: the MCP server at "+filepath.Join(w.root, "mcp.json")+":1", "cannot be used: the entry is not an object", "NOT_SET is not set",
		"plugin dies did not start", "no license", "plugin gone did not start", "the MCP server player (", "a plugin has its name",
	)
	var all pluginList
	list.json(&all)
	states := map[string]plugin.State{}
	for _, one := range all.Plugins {
		states[one.Name] = one.State
	}
	equal(t, "the states", fmt.Sprint(states), "map[broken:refused dies:refused gone:refused off:disabled one:ready two:ready unset:refused]")

	w.run("call", "one.echo", "--arg", "text=hi", "--yes", config).exits(exit.Done).prints("hi")
	w.run("call", "two.echo", "--arg", "text=ho", "--yes", config).exits(exit.Done).prints("ho")
	w.run("call", "one.whoami", "{}", "--yes", config).prints("echo whoami")
	w.run("call", "two.fail", "{}", "--yes", config).exits(exit.Failed).says("the tool failed")
	w.run("call", "one.echo", `{"text": 1}`, "--yes", config).exits(exit.Arguments)
	w.run("call", "unset.echo", "{}", "--yes", config).exits(exit.Unavailable).says("NOT_SET is not set")
	w.run("call", "play.echo", config).exits(exit.Done) // the plugin has its name

	// A tool is dangerous until the operator says otherwise.
	w.run("call", "one.echo", "--arg", "text=hi", config).exits(exit.Refused).says("needs approval")
	w.write("toolhost.yaml", "tools: {one.echo: {safety: safe}, one.whoami: {rename: who}}\n")
	named := []string{config, "--config", filepath.Join(w.root, "toolhost.yaml")}
	w.run(append(named, "call", "one.echo", "--arg", "text=hi")...).exits(exit.Done).prints("hi")
	w.run(append(named, "call", "who", "--yes", "{}")...).exits(exit.Done)

	// Their tools are remembered, and listing starts nothing.
	after := w.mcpServers(named...)
	if one := after["one"]; one.State != plugin.Idle || one.Starts != 0 || one.Tools != 2 || one.Transport != "stdio" ||
		!strings.HasSuffix(one.From, "mcp.json:1") {
		t.Errorf("one is %+v", one)
	}
	w.run("tools", config).exits(exit.Done).prints("one.echo", "two.echo", "play.echo")
	w.run("tools", "--for", "mcp", config).exits(exit.Done).prints("one.echo")
	w.run("plugins", config).exits(exit.Done).prints("one", "gone", "player")

	// The audit log names the server as the plugin.
	w.run("audit", "--tool", "two.echo", "--json").exits(exit.Done).prints(`"plugin":"two"`)
}

// Nothing shows a value of env or headers, or what looks like a secret elsewhere.
func TestMCPSecrets(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-Zx9"
	w := newWorld(t)
	with := mcpServer("echo", "env")
	with["env"] = map[string]any{"API_TOKEN": secret, "PLAIN": secret}
	with["args"] = []string{"-describe", filepath.Join(w.root, "about"), "echo", "env"}
	dies := mcpServer("-die", "--token", secret)
	config := w.mcpConfig(map[string]any{
		"with": with, "dies": dies,
		"far": map[string]any{"url": "http://127.0.0.1:1/mcp?api_key=" + secret, "headers": map[string]any{"X-Mine": secret}},
	})
	w.write("about", "Describes.")
	w.run("call", "with.env", "--arg", "text=API_TOKEN", "--yes", "--no-daemon", config).exits(exit.Done).prints(secret)
	w.write("toolhost.yaml", "mcp_servers:\n  own: {command: x, args: [--password, "+secret+"], env: {A: "+secret+"}}\n")
	file := []string{"--config", filepath.Join(w.root, "toolhost.yaml"), config}
	for _, args := range [][]string{
		{"plugins", "--kind", "mcp"}, {"plugins", "--kind", "mcp", "--json"}, {"plugins", "show", "with"}, {"plugins", "show", "with", "--json"}, {"plugins", "show", "far"},
		{"plugins", "show", "far", "--json"}, {"plugins", "show", "dies", "--json"}, {"plugins", "show", "own"}, {"plugins", "--json"},
		{"plugins", "show", "dies"}, {"doctor", "--json"}, {"config"}, {"config", "--json"}, {"call", "far.x", "{}"},
		{"plugins", "--kind", "mcp", "--log-level", "trace"}, {"plugins", "show", "with", "--log-level", "debug"},
	} {
		o := w.run(append(args, file...)...)
		assert.NotContainsf(t, o.stdout+o.stderr, secret, "toolhost %q shows a secret:\n%s%s", args, o.stdout, o.stderr)
	}
	w.run(append(file, "plugins", "show", "with")...).exits(exit.Done).prints("API_TOKEN, PLAIN", "-describe", "with.echo, dangerous")
	w.run(append(file, "plugins", "show", "far")...).exits(exit.Done).prints("api_key=(hidden)", "X-Mine")
	w.run(append(file, "plugins", "show", "wth")...).exits(exit.BadUsage).says("did you mean with?")
}

// What cannot be used at all is a matter of usage, with the reason.
func TestMCPConfigRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("broken.json", `{"mcpServers": {`)
	w.write("open.json", `{"mcpServers": {}}`)
	require.NoError(t, os.Chmod(filepath.Join(w.root, "open.json"), 0o666)) //nolint:gosec // that is the point
	w.write(".mcp.json", `{"mcpServers": {"found": {"command": "x"}}}`)
	for file, want := range map[string]string{
		"broken.json": "the file is not JSON", "open.json": "others may write to it", "none.json": "there is no file",
	} {
		w.run("plugins", "--kind", "mcp", "--mcp-config", file).exits(exit.BadUsage).says(want)
	}
	if all := w.mcpServers(); len(all) > 0 { // a file is read only if it is named
		t.Errorf("the servers are %v", all)
	}
	w.bare("plugins", "--kind", "mcp", "--mcp-config", ".mcp.json").exits(exit.Done).prints("found") // no plugin directory is needed
}

// An import prints servers as configuration, starts nothing and changes nothing. Secrets stay where they are.
func TestMCPImport(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-Zx9"
	w := newWorld(t, "player")
	mark := filepath.Join(w.root, "ran")
	one := mcpServer("echo", "pid")
	one["env"] = map[string]any{"API_TOKEN": secret, "LEVEL": "debug"}
	w.mcpConfig(map[string]any{"one": one, "two": mcpServer("echo"), "marks": map[string]any{"command": "touch", "args": []string{mark}}, "bad": 1})
	const before = "# mine\nmcp_servers: {two: {command: x}}\n"
	w.configure(strings.TrimSuffix(before, "\n"))

	text := w.run("plugins", "import", "mcp.json", "two").exits(exit.Done).prints("  two:\n    command: ").says("the configuration has a server two already").stdout
	assert.NotContainsf(t, text, "one", "it prints")
	o := w.run("plugins", "import", "mcp.json").exits(exit.Done).says("bad is left out", "set API_TOKEN").
		prints("mcp_servers:\n", `API_TOKEN: "${API_TOKEN}"`, "LEVEL: debug", mark)
	j := w.run("plugins", "import", "mcp.json", "--json").exits(exit.Done)
	var report importReport
	j.json(&report)
	equal(t, "the text", report.Text, o.stdout)
	assert.NotContainsf(t, o.stdout+o.stderr+j.stdout+j.stderr, secret, "a secret was copied:\n%s%s", o.stdout, o.stderr)
	w.run("plugins", "import", "mcp.json", "three").exits(exit.BadUsage).says("no server three", "it has ")
	equal(t, "the configuration", string(require.Must(os.ReadFile(w.config()))(t)), before)
	if _, err := os.Stat(mark); err == nil {
		t.Error("an import started a server")
	}

	// What it prints is configuration.
	w.write("printed.yaml", o.stdout)
	w.env = append(w.env, "API_TOKEN="+secret)
	w.run("call", "one.echo", `{"text":"hi"}`, "--yes", "--config", filepath.Join(w.root, "printed.yaml")).exits(exit.Done).prints("hi")
}

// doctor names the servers that cannot start, and starts none.
func TestMCPDoctor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	unset := mcpServer("echo")
	unset["env"] = map[string]any{"A": "${NOT_SET}"}
	config := w.mcpConfig(map[string]any{
		"fine": mcpServer("echo"), "unset": unset, "gone": map[string]any{"command": "no-such-program"},
	})
	w.run("doctor", "--json", config).exits(exit.Failed).prints(
		"the MCP server unset cannot be used", "NOT_SET is not set", "the MCP server gone does not start: there is no program no-such-program",
		"1 server that can be started",
	)
}

// A login is for servers that are reached by a URL.
func TestMCPLoginRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := w.mcpConfig(map[string]any{"one": mcpServer("echo"), "far": map[string]any{"url": "http://127.0.0.1:1/mcp"}})
	w.run("plugins", "login", "one", config).exits(exit.BadUsage).says("is a program")
	w.run("plugins", "login", "fare", config).exits(exit.BadUsage).says("did you mean far?")
	w.run("plugins", "login", "far", "--no-browser", config).exits(exit.Failed).says("far")
	w.run("plugins", "login", "far", "--forget", config).exits(exit.Done).prints("logged out of far")
}
