package conformance

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/binaries"
	"github.com/toolhost/toolhost/internal/test/require"
)

// agentsVariable names the directory into which make clients has put the clients.
const agentsVariable = "TOOLHOST_CLIENTS"

// agent is a client as its users run it.
type agent struct {
	name    string
	client  string // what it calls itself
	file    string // in which it has its servers, below its home
	before  string // what the file says before toolhost comes
	program []string
	args    []string
	env     []string
	writes  bool // it writes the file, too
}

// agents are those of package.json, with the model at a URL.
func agents(dir, url string) []agent {
	in := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	first := func(pattern string) string {
		all, _ := filepath.Glob(in(pattern))
		return append(all, pattern)[0]
	}
	return []agent{
		{
			"claude", "claude-code", ".claude.json", "{\n  \"mcpServers\": {\n    \"other\": {\n      \"command\": \"true\"\n    }\n  }\n}\n",
			[]string{first("@anthropic-ai/claude-code-*/claude")},
			[]string{"-p", "--allowedTools", "mcp__toolhost__fs_read", "--"},
			[]string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=none", "ENABLE_TOOL_SEARCH=false", "MCP_CONNECTION_NONBLOCKING=false", "IS_SANDBOX=1"},
			true,
		},
		{
			"codex", "codex", ".codex/config.toml", "# mine\nmodel_provider = \"ours\"\n\n[model_providers.ours] # on this machine\nname = \"ours\"\nbase_url = \"" + url + "/v1\"\nwire_api = \"responses\"\n",
			[]string{first("@openai/codex-*/vendor/*/bin/codex")},
			[]string{"exec", "--skip-git-repo-check"},
			nil, false,
		},
		{
			"gemini", "gemini", ".gemini/settings.json", "{\n  // mine\n  \"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}}\n}\n",
			[]string{first("node-*/bin/node"), in("@google/gemini-cli/bundle/gemini.js")},
			[]string{"-m", "gemini-2.5-flash", "--skip-trust", "--approval-mode", "yolo", "-p"},
			[]string{"GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_API_KEY=none"},
			false,
		},
		{
			"opencode", "opencode", ".config/opencode/opencode.json", `{"$schema": "https://opencode.ai/config.json", "model": "ours/m", "provider": {"ours": {"npm": "@ai-sdk/openai-compatible",
  "options": {"baseURL": "` + url + `/v1", "apiKey": "none"}, "models": {"m": {}}}}}`,
			[]string{first("opencode-*/bin/opencode")},
			[]string{"run"},
			nil, false,
		},
	}
}

// Each client calls a tool after connect, which is on record as its call, and has its file back after
// remove, which comes while it runs. It has a home of its own and a model on loopback.
func TestAgents(t *testing.T) {
	t.Parallel()
	dir := os.Getenv(agentsVariable)
	if dir == "" {
		t.Skip("needs clients from npm: run make clients")
	}
	if all, _ := net.Interfaces(); len(all) != 1 {
		t.Fatal("the clients would reach the network: make clients runs this test without one")
	}
	for i, one := range agents(dir, "") { //nolint:paralleltest // each client takes a core or two
		t.Run(one.name, func(t *testing.T) {
			m := newModel(t, "the harbour opens at seven")
			agents(dir, m.URL)[i].test(t, m, "--grant", "fs:read")
		})
		t.Run(one.name+" by the daemon", func(t *testing.T) {
			m := newModel(t, "the harbour opens at eight")
			agents(dir, m.URL)[i].test(t, m)
		})
	}
}

func (a agent) test(t *testing.T, m *model, flags ...string) {
	w := newWorld(t, "callers: {cli: {grants: ['fs:read']}, mcp: {grants: ['fs:read']}}\n")
	binaries.Install(t, filepath.Join(binaries.Build(t, "plugins/fs"), "fs"), filepath.Join(w.plugins, "fs"))
	w.write(filepath.Join(w.root, "notes.txt"), m.secret+"\n")
	toolhost := func(args ...string) string {
		return w.finish(a.command(t.Context(), w, append([]string{w.toolhost()}, args...)...))
	}
	if len(flags) == 0 {
		toolhost(w.arguments("serve", "--detach")...)
		defer toolhost(w.arguments("stop")...)
		toolhost(w.arguments("call", "fs.stat", "--arg", "path=notes.txt")...)
	}
	path := filepath.Join(w.home, a.file)
	file := func() string { return string(require.Must(os.ReadFile(path))(t)) }
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	w.write(path, a.before)
	toolhost(append(w.arguments("connect", a.name, "--yes"), flags...)...)
	added := file()

	ctx, stop := context.WithTimeout(t.Context(), limit)
	defer stop()
	client, said := a.command(ctx, w, append(slices.Concat(a.program, a.args), "Read the notes.")...), newLines()
	client.Stdout, client.Stderr = said, said
	require.NoError(t, client.Start())
	ended := make(chan error, 1)
	go func() { ended <- client.Wait() }()
	select {
	case <-m.read:
	case err := <-ended:
		t.Fatalf("the client has ended (%v), and its model has not read the file:\n%s", err, said)
	}
	record := toolhost(w.arguments("audit", "--tool", "fs.read", "--json")...)
	number := map[bool]string{true: "2", false: "1"}[len(flags) == 0] // of the calls of this host
	if !strings.Contains(record, `-`+number+`","caller":"mcp"`) || !strings.Contains(record, `"client":"`+a.client) {
		t.Errorf("it is not call %s of its host:\n%s", number, record)
	}
	running := file()
	toolhost("connect", a.name, "--remove", "--yes")
	assert.Equalf(t, file(), a.without(running, added), "while the client ran, the file was\n%s\nand", running)
	close(m.end)
	if err := <-ended; err != nil || !strings.Contains(said.String(), lastWords) {
		t.Errorf("the client ends with %v:\n%s", err, said)
	}
	if now := file(); strings.Contains(now, "toolhost") || !a.writes && now != a.before {
		t.Errorf("in the end the file is\n%s", now)
	}
}

// without returns the file as the client has it, without what connect put there.
func (a agent) without(running, with string) string {
	at := 0
	for at < len(a.before) && a.before[at] == with[at] {
		at++
	}
	rest := len(with) - len(a.before)
	return strings.Replace(running, with[at:at+rest], "", 1)
}

// command runs a program in the agent's home.
func (a agent) command(ctx context.Context, w *world, words ...string) *exec.Cmd {
	cmd := w.program(ctx, words[0], words[1:]...)
	run := filepath.Join(w.home, "run")
	require.NoError(w.t, os.MkdirAll(run, 0o700))
	cmd.Env = append(slices.Clone(a.env), "HOME="+w.home, "PATH="+os.Getenv("PATH"), "LANG=C.UTF-8",
		"TERM=xterm-256color", "XDG_RUNTIME_DIR="+run)
	return cmd
}
