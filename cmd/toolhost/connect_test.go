package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// atHome gives the world a home of its own, and returns where a file there is.
func (w *world) atHome() func(name string) string {
	home := w.t.TempDir()
	w.env = append(w.env, "HOME="+home, "XDG_CONFIG_HOME=", "CODEX_HOME=", "CLAUDE_CONFIG_DIR=", "GEMINI_CLI_HOME=")
	return func(name string) string { return filepath.Join(home, name) }
}

// A client gets the entry after a yes, what it says is tried, and its file is again what it was.
func TestConnect(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "player")
	home := w.atHome()
	const before = "{\n  \"numStartups\": 3,\n  \"mcpServers\": {\"other\": {\"command\": \"x\", \"env\": {\"KEY\": \"hunter2\"}}}\n}"
	require.NoError(t, os.WriteFile(home(".claude.json"), []byte(before), 0o644)) //nolint:gosec // as clients do
	is := func(want bool) {
		t.Helper()
		text := string(require.Must(os.ReadFile(home(".claude.json")))(t))
		if has := strings.Contains(text, `"toolhost"`); has != want || !want && text != before {
			t.Errorf("the file is %s", text)
		}
	}
	w.run("connect", "claude").exits(5).says("there is no terminal to ask at", "--yes", `"toolhost"`, home(".claude.json"))
	if o := w.run("connect", "claude", "--check").exits(0).prints(`"toolhost"`); strings.Contains(o.stdout, "hunter2") {
		t.Errorf("it shows %s", o.stdout)
	}
	w.run("connect", "claude", "--remove", "--yes").exits(0).prints("does not have toolhost")
	is(false)
	w.finish(w.command("connect", "claude", "--yes", "--grant", "fs:read", "--root", ".", "--plugin-dir", w.plugins)).exits(0).prints("from its next start on").says("+")
	is(true)
	w.finish(w.command("connect", "claude", "--yes", "--grant", "fs:read", "--root", ".", "--plugin-dir", w.plugins)).exits(0).prints("already")
	var tried struct {
		Connected bool
		Tools     []string
	}
	w.bare("connect", "claude", "--check", "--json").exits(0).json(&tried)
	if !tried.Connected || !strings.Contains(strings.Join(tried.Tools, " "), "fs_read") {
		t.Errorf("%+v", tried)
	}
	var known struct{ Clients []knownClient }
	w.bare("connect", "--json").exits(0).json(&known)
	if len(known.Clients) != 11 || known.Clients[0] != (knownClient{"claude", home(".claude.json"), "yes", "yes"}) || known.Clients[1].Connected != "no" {
		t.Errorf("%+v", known.Clients)
	}
	w.run("connect", "claude", "--yes", "--grant", "fs:write").exits(0).says("fs:write")
	w.run("connect", "claude", "--remove", "--yes").exits(0)
	is(false)
	w.bare("audit", "--kind", "admin", "--json").exits(0).prints(`"connect"`, "claude --remove --yes", home(".claude.json"))

	// What does not answer is told, with what it said.
	require.NoError(t, os.MkdirAll(home(".cursor"), 0o700))
	require.NoError(t, os.WriteFile(home(".cursor/mcp.json"), []byte(`{"mcpServers": {"toolhost": {"command": "`+built.dir+`/quitter"}}}`), 0o600))
	w.finish(w.command("connect", "cursor", "--check")).exits(1).says("does not answer", "no license", "toolhost connect cursor")

	w.bare("connect", "zed").exits(2).says("--print")
	w.bare("connect", "zed", "--print", "--grant", "fs:read").exits(0).prints(`"context_servers"`, `"fs:read"`)
	w.bare("connect", "claude-desktop", "--print", "--http").exits(2).says("takes no URL")
	w.bare("connect", "curser").exits(2).says("did you mean cursor?")
	w.bare("connect", "--remove").exits(2)
	w.bare("connect", "claude", "--remove", "--check").exits(2)
	w.bare("__complete", "connect", "").exits(0).prints("claude\n", "opencode\n", "goose\n")
}

// Over HTTP, a client has a token of its own and a caller in the configuration, as long as it is connected.
func TestConnectOverHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "player")
	home := w.atHome()
	f := w.serveMCP()
	lines := "# mine\nmcp: {url: '" + f.url + "/mcp'}\ncallers:\n    # who\n    ann: {grants: ['fs:read']}"
	w.configure(lines)
	before := lines + "\n"
	f.ends(syscall.SIGTERM, 0)
	f = w.serveMCP("--listen", strings.TrimPrefix(f.url, "http://"))
	require.NoError(t, os.MkdirAll(home(".codex"), 0o700))
	require.NoError(t, os.WriteFile(home(".codex/config.toml"), []byte("# mine\n"), 0o644)) //nolint:gosec // refused
	w.bare("connect", "codex", "--http", "--yes", "--grant", "fs:read").exits(1).says("others can read it", "chmod")
	require.NoError(t, os.Chmod(home(".codex/config.toml"), 0o600))
	o := w.bare("connect", "codex", "--http", "--yes", "--grant", "fs:read").exits(0).says("Bearer tht_…", "codex: {grants")
	token := secretOf(t, home(".codex/config.toml"))
	assert.NotContainsf(t, o.stdout+o.stderr, token, "the token is shown")
	w.bare("reload", "--yes").exits(0)
	w.bare("connect", "codex", "--check").exits(0).prints("fs_read")
	w.bare("connect", "codex", "--http", "--yes").exits(0).prints("already")
	kept := string(require.Must(os.ReadFile(filepath.Join(w.state, "toolhost", "connections.json")))(t))
	w.inFile(home(".codex/config.toml"), "url = ", "tool_timeout_sec = 9\nurl = ")
	w.bare("connect", "codex", "--http", "--yes").exits(0).says("- tool_timeout_sec") // with the token that it has
	w.bare("connect", "codex", "--check").exits(0).prints("fs_read")
	kept += string(require.Must(os.ReadFile(filepath.Join(w.state, "toolhost", "connections.json")))(t))
	if strings.Contains(kept, token) || !strings.Contains(kept, "Bearer tht_…") {
		t.Errorf("kept is %s", kept)
	}
	w.bare("connect", "codex", "--remove", "--yes").exits(0)
	if text := require.Must(os.ReadFile(home(".codex/config.toml")))(t); string(text) != "# mine\n" {
		t.Errorf("the file is %s", text)
	}
	if text := require.Must(os.ReadFile(w.config()))(t); string(text) != before {
		t.Errorf("the configuration is %s", text)
	}
	w.bare("tokens").exits(0).says("no tokens")
	if o := w.bare("config", "check").exits(0); strings.Contains(o.stderr, untrusted) {
		t.Errorf("it says %s", o.stderr)
	}
	if a, _ := f.ask("POST", "/mcp", hello, header{"Authorization": "Bearer " + token}); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("the token is answered with %s", a.Status)
	}
	// Whoever took the entry out by hand gets rid of the rest.
	w.bare("connect", "codex", "--http", "--yes", "--grant", "fs:read").exits(0)
	require.NoError(t, os.WriteFile(home(".codex/config.toml"), nil, 0o600))
	w.bare("connect", "codex", "--remove", "--yes").exits(0)
	w.bare("tokens").exits(0).says("no tokens")
	w.found(before + "# others\n")
	w.bare("connect", "codex", "--http", "--yes").exits(2).says("is not trusted as it is")
}

// secretOf returns the token in a file.
func secretOf(t *testing.T, path string) string {
	t.Helper()
	_, rest, ok := strings.Cut(string(require.Must(os.ReadFile(path))(t)), "Bearer ")
	if !ok {
		t.Fatal("there is no token in " + path)
	}
	text, _, _ := strings.Cut(rest, `"`)
	return text
}

// inFile replaces a text in a file.
func (w *world) inFile(path, was, is string) {
	w.t.Helper()
	text := string(require.Must(os.ReadFile(path))(w.t))
	if strings.Count(text, was) != 1 {
		w.t.Fatalf("%s has not one %q", path, was)
	}
	require.NoError(w.t, os.WriteFile(path, []byte(strings.Replace(text, was, is, 1)), 0o600))
}
