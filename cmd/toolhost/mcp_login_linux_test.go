package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/mcptest"
	"github.com/toolhost/toolhost/internal/test/require"
)

// newFarServer returns an MCP server with the tool echo.
func newFarServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "far", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Answers with a text."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "it echoes"}}}, nil, nil
		})
	return server
}

// The whole way of a login by the command: the browser opens the page, the answer comes back, calls
// have the token, which is refreshed once when it has expired, and logout ends it. The tokens are in
// one file that only the user can read, and nowhere else.
func TestMCPLogin(t *testing.T) {
	t.Parallel()
	issuer := mcptest.NewIssuer(newFarServer())
	t.Cleanup(issuer.Close)
	issuer.Lifetime = 1 // what the login gets has expired when it is used

	w := newWorld(t)
	page := w.browser()
	config := w.mcpConfig(map[string]any{"far": map[string]any{"url": issuer.URL + "/mcp"}})
	var said bytes.Buffer
	run := func(args ...string) outcome {
		t.Helper()
		o := w.run(append(args, config, "--log-level", "trace")...)
		said.WriteString(o.stdout + o.stderr)
		return o
	}
	call := []string{"call", "far.echo", "{}", "--yes", "--no-daemon"}
	for range 5 { // after which a server that fails has to wait for its next start
		run(call...).exits(exit.Unavailable).says("toolhost plugins login far")
	}

	printed := w.login(page, "far", config, "--log-level", "trace")
	if !strings.HasSuffix(printed, "logged in to far\n") {
		t.Errorf("the login prints %s", printed)
	}
	said.WriteString(printed)

	kept, err := filepath.Glob(filepath.Join(w.state, "toolhost", "mcp-tokens", "far-*.json"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("the tokens are in %q, %v", kept, err)
	}
	private := func() {
		t.Helper()
		for path, mode := range map[string]fs.FileMode{kept[0]: 0o600, filepath.Dir(kept[0]): 0o700} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
				t.Errorf("%s: %v, %v", path, info, err)
			}
		}
	}
	private()

	issuer.Lock()
	issuer.Lifetime = 3600
	before := issuer.Refreshes
	issuer.Unlock()
	for range 2 {
		run(call...).exits(exit.Done).prints("it echoes")
		private()
	}
	d := w.serve(config, "--log-level", "trace", "--yes")
	run("call", "far.echo", "{}", "--yes").exits(exit.Done).prints("it echoes")
	issuer.Lock()
	equal(t, "the refreshes", issuer.Refreshes-before, 1)
	issuer.Unlock()
	for _, args := range [][]string{
		{"plugins", "show", "far"}, {"plugins", "show", "far", "--json"}, {"plugins", "--kind", "mcp", "--json"}, {"plugins", "show", "far"},
		{"logs", "far"}, {"config"}, {"doctor", "--json"}, {"audit", "--json"}, {"status", "--json"},
	} {
		run(args...)
	}
	processes := []string{}
	for _, name := range []string{"environ", "cmdline"} {
		text := require.Must(os.ReadFile(fmt.Sprintf("/proc/%d/%s", d.cmd.Process.Pid, name)))(t)
		processes = append(processes, string(text))
	}

	// Another login, of one whose token is refused and not refreshed any more.
	issuer.Lock()
	issuer.Access, issuer.Refresh = "", ""
	issuer.Unlock()
	run(call...).exits(exit.Unavailable).says("toolhost plugins login far")
	issuer.Lock()
	issuer.Deny = true
	issuer.Unlock()
	refused := w.command("plugins", "login", "far", config)
	refused.Stderr = &said
	require.NoError(t, refused.Start())
	address := require.Must(os.ReadFile(page))(t)
	equal(t, "the page after a no", visit(t, string(address)), "toolhost is not authorized. You can close this page.\n")
	_ = refused.Wait()
	equal(t, "the status of a login that was refused", refused.ProcessState.ExitCode(), exit.Failed)

	run("plugins", "login", "far", "--forget").exits(exit.Done).prints("logged out of far")
	if _, err := os.Stat(kept[0]); !os.IsNotExist(err) {
		t.Errorf("after the logout: %v", err)
	}
	run(call...).exits(exit.Unavailable).says("toolhost plugins login far")
	d.ends(syscall.SIGTERM, 0)

	issuer.Lock()
	secrets := slices.DeleteFunc(issuer.Secrets, func(s string) bool { return len(s) < 8 })
	issuer.Unlock()
	if len(secrets) < 6 { // a code, and twice a token of each kind, at least
		t.Fatalf("the issuer has issued %q", secrets)
	}
	texts := map[string]string{
		"what commands print": said.String(), "the daemon's log": strings.Join(d.said, "\n"), "the daemon's process": strings.Join(processes, ""),
	}
	for _, dir := range []string{w.state, w.root, w.tmp} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			content, err := os.ReadFile(path) //nolint:gosec // of the test
			texts[path] = string(content)
			return err
		})
		assert.NoError(t, err)
	}
	for where, text := range texts {
		for _, secret := range secrets {
			assert.NotContainsf(t, text, secret, "%s has a token", where)
		}
	}
}

// A client that the operator registered beforehand logs in with its secret and comes back to its
// port; another one is not registered. The secret is printed nowhere, not even by a server that
// sends it back.
func TestMCPLoginOfClient(t *testing.T) {
	t.Parallel()
	const secret = "the-secret-of-client-abc"
	issuer := mcptest.NewIssuer(newFarServer())
	t.Cleanup(issuer.Close)
	issuer.Secret, issuer.Lifetime = secret, 1
	port := mcptest.FreePort(t)
	w := newWorld(t)
	w.configure("mcp_servers:", "  far:", "    url: "+issuer.URL+"/mcp",
		fmt.Sprintf(`    oauth: {client_id: abc, client_secret: "${FAR_SECRET}", issuer: %q, callback_port: %d, scopes: [use]}`, issuer.URL, port))
	page := w.browser()

	wrong := w.command("plugins", "login", "far", "--log-level", "trace")
	wrong.Env = append(wrong.Env, "FAR_SECRET=another-secret-of-abc")
	var said bytes.Buffer
	wrong.Stdout, wrong.Stderr = &said, &said
	require.NoError(t, wrong.Start())
	address := require.Must(os.ReadFile(page))(t)
	visit(t, string(address))
	_ = wrong.Wait()
	if text := said.String(); !strings.Contains(text, "invalid_client") || strings.Contains(text, "another-secret") {
		t.Errorf("with another secret: %s", text)
	}

	w.env = append(w.env, "FAR_SECRET="+secret)
	text := w.login(page, "far", "--log-level", "trace")
	issuer.Lock()
	equal(t, "the client", issuer.Asked.Get("client_id"), "abc")
	equal(t, "the clients that were registered", issuer.Clients, 0)
	equal(t, "where the browser returns", issuer.Asked.Get("redirect_uri"), fmt.Sprintf("http://127.0.0.1:%d/callback", port))
	before := issuer.Refreshes
	issuer.Lifetime = 3600
	issuer.Unlock()
	o := w.run("call", "far.echo", "{}", "--yes", "--log-level", "trace").exits(exit.Done).prints("it echoes")
	issuer.Lock()
	equal(t, "the refreshes", issuer.Refreshes-before, 1)
	issuer.Unlock()
	text += o.stdout + o.stderr
	for _, args := range [][]string{{"plugins", "show", "far", "--json"}, {"config"}, {"config", "--json"}} {
		o := w.run(args...).exits(exit.Done)
		text += o.stdout + o.stderr
	}
	assert.NotContainsf(t, text, secret, "the secret is printed")
}

// login logs in to a server, with the browser that page is of, and returns what is printed.
func (w *world) login(page string, args ...string) string {
	w.t.Helper()
	login := w.command(append([]string{"plugins", "login"}, args...)...)
	var printed bytes.Buffer
	login.Stdout, login.Stderr = &printed, &printed
	require.NoError(w.t, login.Start())
	address := require.Must(os.ReadFile(page))(w.t)
	equal(w.t, "the page after the login", visit(w.t, string(address)), "toolhost is authorized. You can close this page.\n")
	if err := login.Wait(); err != nil {
		w.t.Fatalf("%v: %s", err, printed.String())
	}
	if !strings.HasPrefix(string(address), "http://127.0.0.1:") || strings.ContainsAny(string(address), "?&") {
		w.t.Errorf("the browser gets %s, which others can read on its command line", address)
	}
	if !strings.Contains(printed.String(), string(address)) {
		w.t.Errorf("the login does not print %s but %s", address, printed.String())
	}
	return printed.String()
}

// browser puts a browser into PATH that writes the address of each page into a FIFO.
func (w *world) browser() (page string) {
	w.t.Helper()
	dir := w.t.TempDir()
	page = filepath.Join(dir, "page")
	require.NoError(w.t, syscall.Mkfifo(page, 0o600))
	script := "#!/bin/sh\nprintf %s \"$1\" > '" + page + "'\n"
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o700); err != nil { //nolint:gosec // a program
		w.t.Fatal(err)
	}
	w.env = append(w.env, "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return page
}

// visit opens a page, and returns the text to which it leads.
func visit(t *testing.T, address string) string {
	t.Helper()
	r := require.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody))(t)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	text := require.Must(io.ReadAll(answer.Body))(t)
	return string(text)
}
