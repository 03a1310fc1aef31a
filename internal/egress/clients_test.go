package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/proxy"

	"github.com/toolhost/toolhost/internal/test/require"
)

// childURL is what the test binary gets if it is started as a client: net/http reads the
// variables of its process once, so that a process of its own has to.
const childURL = "EGRESS_TEST_GET"

func child() int {
	resp, err := http.Get(os.Getenv(childURL))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(os.Stdout, resp.Body)
	return 0
}

// site is a world with one site, over HTTP and TLS, that says how it was asked.
func site(t *testing.T, files string) (w *world, ca string) {
	t.Helper()
	w = newWorld(t, "example.com:443", "example.com:80", "*.example.com:80", "private.example.org:80")
	mux := http.NewServeMux()
	mux.Handle("/files/", http.StripPrefix("/files/", http.FileServer(http.Dir(files))))
	mux.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "hello %s %s tls=%v", r.Host, r.URL, r.TLS != nil)
	})
	plain := httptest.NewServer(mux)
	secure := httptest.NewTLSServer(mux)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	w.at("example.com", "93.184.216.34:80", plain.Listener.Addr())
	w.at("example.com", "93.184.216.34:443", secure.Listener.Addr())
	w.at("www.example.com", "93.184.216.35:80", plain.Listener.Addr())
	w.at("private.example.org", "10.0.0.5:80", plain.Listener.Addr())
	w.at("localhost", "127.0.0.1:80", plain.Listener.Addr())
	ca = filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	require.NoError(t, os.WriteFile(ca, block, 0o600))
	return w, ca
}

// run runs a client with nothing in its environment but what it is told of the proxy.
func (w *world) run(env []string, name string, args ...string) (string, error) {
	w.t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		w.t.Skip(err)
	}
	cmd := exec.CommandContext(w.t.Context(), path, args...)
	cmd.Env = append(Environ(w.addr), "PATH="+os.Getenv("PATH"), "HOME="+w.t.TempDir())
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (w *world) want(t *testing.T, out string, err error, part string) {
	t.Helper()
	if err != nil || !strings.Contains(out, part) {
		t.Errorf("%v: %q does not have %q", err, out, part)
	}
}

func (w *world) wantRefused(t *testing.T, out string, err error, part string) {
	t.Helper()
	if err == nil && !strings.Contains(out, "the sandbox of plugin probe does not allow") || !strings.Contains(out, part) {
		t.Errorf("%v: %q is not refused with %q", err, out, part)
	}
}

func TestGoClient(t *testing.T) {
	t.Parallel()
	w, ca := site(t, "")
	get := func(url string) (string, error) {
		return w.run([]string{childURL + "=" + url, "SSL_CERT_FILE=" + ca}, os.Args[0])
	}
	out, err := get("http://example.com/hello?a=1;b")
	w.want(t, out, err, "hello example.com /hello?a=1;b tls=false")
	out, err = get("http://WWW.example.com.:80/hello")
	w.want(t, out, err, "hello www.example.com /hello tls=false")
	out, err = get("https://example.com/hello")
	w.want(t, out, err, "hello example.com /hello tls=true")
	const more = "the sandbox of plugin probe does not allow connections to "
	out, err = get("https://other.example.org/hello")
	w.wantRefused(t, out, err, more+"other.example.org:443; the operator can add it to net")
	out, err = get("http://other.example.org/hello")
	w.wantRefused(t, out, err, more+"other.example.org:80; the operator can add it to net")
	out, err = get("http://private.example.org/hello")
	w.wantRefused(t, out, err, more+"private.example.org:80: the name leads to 10.0.0.5, a private address; the operator can add 10.0.0.5:80 to net")
	out, err = get("http://93.184.216.34/hello")
	w.wantRefused(t, out, err, more+"93.184.216.34:80;")
}

func TestTLSClient(t *testing.T) {
	t.Parallel()
	w, ca := site(t, "")
	pool := x509.NewCertPool()
	pem, err := os.ReadFile(ca)
	if err != nil || !pool.AppendCertsFromPEM(pem) {
		t.Fatal(err)
	}
	client := tls.Client(w.tunnel("example.com:443"), &tls.Config{ServerName: "example.com", RootCAs: pool})
	require.Must(io.WriteString(client, "GET /hello HTTP/1.0\r\nHost: example.com\r\n\r\n"))(t)
	out, err := io.ReadAll(client)
	w.want(t, string(out), err, "tls=true")
}

func TestSOCKSClient(t *testing.T) {
	t.Parallel()
	w, _ := site(t, "")
	u, _ := url.Parse("socks5h://" + w.addr)
	dialer := require.Must(proxy.FromURL(u, proxy.Direct))(t)
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return dialer.(proxy.ContextDialer).DialContext(ctx, network, addr)
		},
	}}
	resp, err := client.Get("http://www.example.com/hello")
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	out, err := io.ReadAll(resp.Body)
	w.want(t, string(out), err, "hello www.example.com /hello")
	for _, addr := range []string{"other.example.org:80", "private.example.org:80", "93.184.216.34:80", "[::1]:80", "localhost:80"} {
		if conn, err := dialer.Dial("tcp", addr); err == nil {
			t.Errorf("a connection to %s", addr)
			_ = conn.Close()
		} else if !strings.Contains(err.Error(), "not allowed by ruleset") {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

func TestCurl(t *testing.T) {
	t.Parallel()
	w, ca := site(t, "")
	out, err := w.run(nil, "curl", "-sS", "http://example.com/hello")
	w.want(t, out, err, "hello example.com /hello")
	out, err = w.run(nil, "curl", "-sS", "--cacert", ca, "https://example.com/hello")
	w.want(t, out, err, "tls=true")
	out, err = w.run(nil, "curl", "-sS", "--cacert", ca, "--proxy", "socks5h://"+w.addr, "https://example.com/hello")
	w.want(t, out, err, "tls=true")
	out, err = w.run(nil, "curl", "-sSv", "https://other.example.org/hello")
	w.wantRefused(t, out, err, "does not allow connections to other.example.org:443; the operator can add it to net")
	out, err = w.run(nil, "curl", "-sS", "http://other.example.org/hello")
	w.wantRefused(t, out, err, "does not allow connections to other.example.org:80")
	out, err = w.run(nil, "curl", "-sS", "--proxy", "socks5h://"+w.addr, "http://other.example.org/hello")
	w.wantRefused(t, out, err, "(2)")
	// The proxy refuses a Host header nothing, and the server sees the URL's.
	out, err = w.run(nil, "curl", "-sS", "-H", "Host: other.example.org", "http://example.com/hello")
	w.want(t, out, err, "hello example.com /hello")
}

func TestGit(t *testing.T) {
	t.Parallel()
	files := t.TempDir()
	w, ca := site(t, files)
	source, bare, clone := filepath.Join(files, "source"), filepath.Join(files, "repo.git"), filepath.Join(t.TempDir(), "clone")
	env := []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_SSL_CAINFO=" + ca, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"}
	for _, args := range [][]string{
		{"init", "-q", source},
		{"-C", source, "commit", "-q", "--allow-empty", "-m", "first"},
		{"clone", "-q", "--bare", source, bare},
		{"-C", bare, "update-server-info"},
		{"clone", "-q", "https://example.com/files/repo.git", clone},
	} {
		if out, err := w.run(env, "git", args...); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	out, err := w.run(env, "git", "-C", clone, "log", "--format=%s")
	w.want(t, out, err, "first")
	out, err = w.run(env, "git", "clone", "-q", "https://other.example.org/repo.git", clone+"2")
	w.wantRefused(t, out, err, "403")
}

func TestPython(t *testing.T) {
	t.Parallel()
	w, ca := site(t, "")
	env := []string{"SSL_CERT_FILE=" + ca}
	get := func(url string) (string, error) {
		return w.run(env, "python3", "-c", "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read())", url)
	}
	out, err := get("http://example.com/hello")
	w.want(t, out, err, "hello example.com")
	out, err = get("https://example.com/hello")
	w.want(t, out, err, "tls=true")
	out, err = get("https://other.example.org/hello")
	w.wantRefused(t, out, err, "does not allow connections to other.example.org:443; the operator can add it to net")
}
