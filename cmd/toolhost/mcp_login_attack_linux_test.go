package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/internal/test/mcptest"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A server does not choose who gets the user's code, its verifier or the client's secret.
func TestMCPLoginKeepsToItsIssuer(t *testing.T) {
	t.Parallel()
	own := mcptest.NewIssuer(newFarServer())
	t.Cleanup(own.Close)
	secret := "oauth: {client_id: abc, client_secret: s3cret-of-abc, "
	for name, c := range map[string]struct {
		change func(*mcptest.Issuer)
		oauth  string
		says   []string
	}{
		"the page of another": {
			func(s *mcptest.Issuer) { s.Page = own.URL + "/authorize" }, "",
			[]string{"to another site, " + own.URL, "add to mcp_servers.far in the configuration: oauth: {issuer: "},
		},
		"the tokens of another": {func(s *mcptest.Issuer) { s.TokenAt = own.URL + "/token" }, "", []string{"to another site, " + own.URL}},
		"a secret": {
			nil, secret + "}", []string{"the client's secret would go to", "add to mcp_servers.far in the configuration: oauth: {issuer: "},
		},
		"another than configured": {nil, secret + "issuer: " + own.URL + "}", []string{"and oauth.issuer is " + own.URL}},
		"no S256":                 {func(s *mcptest.Issuer) { s.Challenges = []string{"plain"} }, "", []string{"no PKCE by S256"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			named := mcptest.NewIssuer(newFarServer())
			t.Cleanup(named.Close)
			if c.change != nil {
				c.change(named)
			}
			w := newWorld(t)
			w.configure("mcp_servers:", "  far:", "    url: "+named.URL+"/mcp", "    "+c.oauth)
			o := w.run("plugins", "login", "far", "--no-browser", "--timeout", "10s").exits(exit.Failed)
			for _, want := range c.says {
				o.says(want)
			}
			if strings.Contains(o.stderr, "/start/") || strings.Contains(o.stderr, "s3cret") {
				t.Errorf("a page is shown, or the secret: %s", o.stderr)
			}
			if named.Clients > 0 {
				t.Error("a client was registered")
			}
		})
	}
}

// With its issuer in the configuration, a login goes to the endpoints that this one names, at whatever site.
func TestMCPLoginOfIssuer(t *testing.T) {
	t.Parallel()
	issuer := mcptest.NewIssuer(newFarServer())
	t.Cleanup(issuer.Close)
	elsewhere := httptest.NewServer(issuer.Config.Handler)
	t.Cleanup(elsewhere.Close)
	issuer.TokenAt, issuer.Secret = elsewhere.URL+"/token", "secret-of-abc"
	w := newWorld(t)
	w.configure("mcp_servers:", "  far:", "    url: "+issuer.URL+"/mcp",
		"    oauth: {client_id: abc, client_secret: secret-of-abc, issuer: "+issuer.URL+"}")
	if text := w.login(w.browser(), "far"); !strings.Contains(text, "log in to far at "+strings.TrimPrefix(issuer.URL, "http://")+", here:") {
		t.Errorf("it does not say where: %s", text)
	}
	w.run("call", "far.echo", "{}", "--yes").exits(exit.Done).prints("it echoes")
	// Tokens of another issuer do not count once this one is configured.
	w.configure("mcp_servers:", "  far:", "    url: "+issuer.URL+"/mcp", "    oauth: {issuer: "+elsewhere.URL+"}")
	w.run("call", "far.echo", "{}", "--yes").exits(exit.Unavailable).says("toolhost plugins login far")
}

// The page to log in is on no command line, is there once, and for the user who logs in.
func TestMCPLoginOfAnotherUser(t *testing.T) {
	t.Parallel()
	issuer := mcptest.NewIssuer(newFarServer())
	t.Cleanup(issuer.Close)
	w := newWorld(t)
	w.configure("mcp_servers:", "  far:", "    url: "+issuer.URL+"/mcp")
	login := w.command("plugins", "login", "far", "--no-browser")
	said := require.Must(login.StderrPipe())(t)
	require.NoError(t, login.Start())
	lines := bufio.NewScanner(said)
	start := ""
	for !strings.HasPrefix(start, "http") && lines.Scan() {
		start = strings.TrimSpace(lines.Text())
	}
	get := func(page string, uid int) (status int, to string) {
		t.Helper()
		type answer struct {
			status int
			to     string
			err    error
		}
		got := make(chan answer)
		go func() {
			if uid != 0 { // sockets that a thread makes are of its user, and this thread ends with it
				runtime.LockOSThread()
				_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, uintptr(uid), 0, 0)
			}
			var a answer
			a.status, a.to, a.err = getOnce(page)
			got <- a
		}()
		a := <-got
		require.NoError(t, a.err)
		return a.status, a.to
	}
	const stranger = 61234
	if os.Getuid() == 0 {
		status, to := get(start, stranger)
		equal(t, "another user who opens the page", fmt.Sprint(status, to), "403")
	}
	status, page := get(start, 0)
	if status != http.StatusFound || !strings.HasPrefix(page, issuer.URL+"/authorize?") {
		t.Fatalf("the page leads to %d %s", status, page)
	}
	if os.Getuid() == 0 {
		_, state, _ := strings.Cut(page, "&state=")
		origin, _, _ := strings.Cut(strings.TrimPrefix(start, "http://"), "/")
		status, _ := get("http://"+origin+"/callback?code=mine&state="+state, stranger)
		equal(t, "another user's answer", status, http.StatusForbidden)
	}
	status, _ = get(start, 0)
	equal(t, "who opens the page again", status, http.StatusGone)
	rest := require.Must(io.ReadAll(said))(t)
	if _ = login.Wait(); login.ProcessState.ExitCode() != exit.Failed || !strings.Contains(string(rest), "opened twice") {
		t.Errorf("%v: %s", login.ProcessState, rest)
	}
}

// getOnce asks for a page on a connection of its own.
func getOnce(page string) (status int, to string, err error) {
	host, path, _ := strings.Cut(strings.TrimPrefix(page, "http://"), "/")
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, "", err
	}
	f := os.NewFile(uintptr(fd), "socket")
	defer func() { _ = f.Close() }()
	at := &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if _, err := fmt.Sscanf(host, "127.0.0.1:%d", &at.Port); err != nil {
		return 0, "", err
	}
	if err := syscall.Connect(fd, at); err != nil {
		return 0, "", err
	}
	if _, err := fmt.Fprintf(f, "GET /%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", path, host); err != nil {
		return 0, "", err
	}
	resp, err := http.ReadResponse(bufio.NewReader(f), nil)
	if err != nil {
		return 0, "", err
	}
	return resp.StatusCode, resp.Header.Get("Location"), resp.Body.Close()
}
