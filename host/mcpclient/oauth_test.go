package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/mcptest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func newIssuer(t testing.TB) *mcptest.Issuer {
	t.Helper()
	s := mcptest.NewIssuer(newBusyServer().Server)
	t.Cleanup(s.Close)
	return s
}

// browse is a browser whose user agrees.
func browse(page, _ string) error {
	go func() {
		resp, err := http.Get(page) //nolint:gosec,noctx // the test's own server
		if err == nil {
			_ = resp.Body.Close()
		}
	}()
	return nil
}

// started returns the page to which the address that the browser gets leads.
func started(t testing.TB, start string) string {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(start)
	require.NoError(t, err)
	_ = resp.Body.Close()
	return resp.Header.Get("Location")
}

func oauthUpstream(t testing.TB, s *mcptest.Issuer, dir string) *Upstream {
	t.Helper()
	return upstream(t, func(c *Config) {
		c.Command, c.URL, c.OAuth.Dir = "", s.URL+"/mcp", dir
	})
}

// tryEcho connects and calls a tool.
func tryEcho(t testing.TB, u *Upstream) error {
	t.Helper()
	conn, err := u.Connect(within(t), nil, plugin.Events{})
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(within(t)) }()
	_, err = conn.Execute(within(t), tool.Call{Name: "srv.fail"})
	return err
}

// TestLogin authorizes the host in a browser, keeps the token for its user alone, and refreshes it.
func TestLogin(t *testing.T) {
	t.Parallel()
	s := newIssuer(t)
	dir := filepath.Join(t.TempDir(), "tokens")
	u := oauthUpstream(t, s, dir)

	err := tryEcho(t, u)
	if tool.CodeOf(err) != tool.CodeUnavailable || !strings.Contains(err.Error(), "authorize the host at srv") {
		t.Fatalf("before the login: %v", err)
	}
	require.NoError(t, u.Login(within(t), LoginOptions{OpenBrowser: browse}))
	if got := s.Asked; got.Get("code_challenge_method") != "S256" || got.Get("resource") != s.URL+"/mcp" ||
		got.Get("scope") != "use" || len(got.Get("state")) < 16 {
		t.Errorf("the page was asked for with %v", got)
	}
	require.NoError(t, tryEcho(t, u))

	// The file is the user's alone, and other programs see nothing.
	files, err := filepath.Glob(filepath.Join(dir, "srv-*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	for path, mode := range map[string]os.FileMode{dir: 0o700, files[0]: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}

	// A token that was revoked is refreshed, by whichever process needs it first.
	s.Lock()
	s.Access = "revoked"
	s.Unlock()
	old := require.Must(u.tokens.get())(t)
	for range 2 {
		require.NoError(t, tryEcho(t, oauthUpstream(t, s, dir)))
		require.Must(oauthUpstream(t, s, dir).tokens.refresh(old.Token.AccessToken))(t)
	}
	if s.Refreshes != 1 {
		t.Errorf("%d refreshes", s.Refreshes)
	}
	// So is one that expired.
	require.NoError(t, u.tokens.file.Update(func(a *authorization) error {
		a.Token.Expiry = time.Now().Add(-time.Hour)
		return nil
	}))
	if err := tryEcho(t, oauthUpstream(t, s, dir)); err != nil || s.Refreshes != 2 {
		t.Errorf("%v, %d refreshes", err, s.Refreshes)
	}

	// Another login uses the client that is registered.
	if err := oauthUpstream(t, s, dir).Login(within(t), LoginOptions{OpenBrowser: browse}); err != nil || s.Clients != 1 {
		t.Errorf("%v, %d clients", err, s.Clients)
	}

	// A refresh that fails shows no token.
	s.Lock()
	secret := s.Refresh
	s.Access, s.Refresh = "x", "other"
	s.Unlock()
	err = tryEcho(t, oauthUpstream(t, s, dir))
	if err == nil || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "authorize the host at srv") {
		t.Errorf("a refresh that fails: %v", err)
	}
	assert.NoError(t, u.Logout())
	if _, err := os.Stat(files[0]); !os.IsNotExist(err) {
		t.Error("the tokens are still there")
	}
}

// TestLoginCallback proves that only the login's own answer counts.
func TestLoginCallback(t *testing.T) {
	t.Parallel()
	s := newIssuer(t)
	u := oauthUpstream(t, s, t.TempDir())
	var statuses []int
	require.NoError(t, u.Login(within(t), LoginOptions{OpenBrowser: func(page, _ string) error {
		p, err := url.Parse(started(t, page))
		if err != nil {
			return err
		}
		back := p.Query().Get("redirect_uri")
		for _, c := range []struct{ method, url, host string }{
			{"GET", back + "?code=evil&state=wrong", ""},
			{"GET", back + "?code=evil", ""},
			{"POST", back + "?code=evil&state=" + p.Query().Get("state"), ""},
			{"GET", back + "?code=evil&state=" + p.Query().Get("state"), "evil.example"},
			{"GET", strings.TrimSuffix(back, callbackPath) + "/?code=evil&state=" + p.Query().Get("state"), ""},
		} {
			req, err := http.NewRequestWithContext(within(t), c.method, c.url, http.NoBody)
			if err != nil {
				return err
			}
			req.Host = c.host
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return err
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			statuses = append(statuses, resp.StatusCode)
		}
		return browse(p.String(), "")
	}}))
	assert.EqualSlicesf(t, statuses, []int{400, 400, 404, 404, 404}, "statuses")

	s.Access, s.Deny = "", true
	u = oauthUpstream(t, s, t.TempDir())
	if err := u.Login(within(t), LoginOptions{OpenBrowser: browse}); err == nil ||
		!strings.Contains(err.Error(), "access_denied") {
		t.Errorf("a user who refuses: %v", err)
	}
	quiet := func(string, string) error { return nil }
	if err := u.Login(within(t), LoginOptions{OpenBrowser: quiet, Timeout: time.Second}); err == nil ||
		!strings.Contains(err.Error(), "in time") {
		t.Errorf("a user who is away: %v", err)
	}
	ctx, cancel := context.WithCancel(within(t))
	if err := u.Login(ctx, LoginOptions{OpenBrowser: func(string, string) error { cancel(); return nil }}); err == nil {
		t.Error("a login that was given up succeeded")
	}
}

// TestTokensStay proves that headers and tokens go to the server's host only.
func TestTokensStay(t *testing.T) {
	t.Parallel()
	stolen := make(chan http.Header, 10)
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stolen <- r.Header
		w.WriteHeader(http.StatusNotFound)
	}))
	defer thief.Close()
	elsewhere := thief.URL // another port is another server
	for name, handler := range map[string]http.HandlerFunc{
		transportHTTP: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
		},
		transportSSE: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "event: endpoint\ndata: %s/steal\n\n", elsewhere)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
	} {
		web := httptest.NewServer(handler)
		u := upstream(t, func(c *Config) {
			c.Command, c.URL, c.Transport = "", web.URL+"?key=querysecret", name
			c.Headers = http.Header{"Authorization": {"Bearer headersecret"}}
		})
		_, err := u.Connect(within(t), nil, plugin.Events{})
		assert.ErrorContainsf(t, err, "must not go", "%s", name)
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error has a secret: %v", name, err)
		}
		web.CloseClientConnections()
		web.Close()
	}
	select {
	case h := <-stolen:
		t.Errorf("another host was asked, with %v", h)
	default:
	}
	for _, bad := range []string{
		"http://example.com/mcp", "https://u:p@example.com", "ftp://x", "https://", "http://127.0.0.1.example.com",
	} {
		if _, err := New(Config{Name: "x", URL: bad}); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
	// A server elsewhere does not choose addresses of this machine, or ones without TLS.
	client, leash := oauthClient("https://mcp.example.com")
	_, port, _ := strings.Cut(strings.TrimPrefix(thief.URL, "http://"), ":")
	me := require.Must(os.Hostname())(t)
	if _, err := net.LookupHost(me); err != nil {
		me = "localhost" // no resolver knows this machine
	}
	for _, to := range []string{
		thief.URL, "http://example.com", "https://LOCALHOST:" + port, "https://localhost.:" + port, "https://127.1:" + port,
		"https://[64:ff9b::127.0.0.1]:" + port, "https://" + me + ":" + port, "https://169.254.169.254/", "https://10.0.0.1/",
	} {
		req := require.Must(http.NewRequestWithContext(within(t), http.MethodGet, to, http.NoBody))(t)
		resp, err := client.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "is refused") && !strings.Contains(err.Error(), "is not asked") {
			t.Errorf("%s: %v", to, err)
		}
		page := require.Must(url.Parse(to))(t)
		if err := leash.Lead(within(t), page); !strings.HasPrefix(to, "http:") && err == nil {
			t.Errorf("a browser is led to %s", to)
		}
	}
}

// TestLoginOpensPagesOnly has an authorization server name what is not a page in a browser.
func TestLoginOpensPagesOnly(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"file://localhost/etc/passwd", "vscode://127.0.0.1/x", "http://192.0.2.1/"} {
		s := newIssuer(t)
		s.Page = page
		err := oauthUpstream(t, s, t.TempDir()).Login(within(t), LoginOptions{OpenBrowser: func(string, string) error {
			t.Errorf("%s is opened", page)
			return errors.New("no")
		}})
		if err == nil {
			t.Errorf("%s: no error", page)
		}
	}
}
