package conformance

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/binaries"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
)

// world is a place to use the command in: a workspace, a configuration, a plugin directory and
// the places of a user's files, all its own.
type world struct {
	t                           *testing.T
	root, plugins, config, home string
}

// limit is much longer than anything here takes.
const limit = 2 * time.Minute

func newWorld(t *testing.T, config string, plugins ...plugintest.Mode) *world {
	t.Helper()
	home, err := os.MkdirTemp("", "th-") // a short path: the host puts sockets there
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	w := &world{t: t, root: t.TempDir(), plugins: plugintest.Dir(t, plugins...), home: home}
	w.config = filepath.Join(home, "toolhost.yaml")
	w.write(w.config, config)
	return w
}

func (w *world) write(path, text string) {
	w.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// environment is what commands of this world have.
func (w *world) environment() []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "TOOLHOST_") && !strings.HasPrefix(kv, "XDG_") {
			env = append(env, kv)
		}
	}
	return append(env, "TMPDIR="+w.home, "TOOLHOST_CACHE_DIR="+filepath.Join(w.home, "cache"),
		"XDG_STATE_HOME="+filepath.Join(w.home, "state"), "XDG_DATA_HOME="+filepath.Join(w.home, "data"),
		"XDG_CONFIG_HOME="+filepath.Join(w.home, "config"), "TOOLHOST_SOCKET="+filepath.Join(w.home, "socket"))
}

// arguments are those of toolhost that say where this world is.
func (w *world) arguments(args ...string) []string {
	return append(args, "--root", w.root, "--plugin-dir", w.plugins, "--config", w.config)
}

// program is a command that ends with the test at the latest, by an interrupt.
func (w *world) program(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // what the test says
	cmd.Dir, cmd.Env = w.root, w.environment()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = limit
	return cmd
}

// toolhost is the command itself.
func (w *world) toolhost() string {
	w.t.Helper()
	return filepath.Join(binaries.Build(w.t, "cmd/toolhost"), "toolhost")
}

// run runs toolhost to its end and returns what it printed.
func (w *world) run(args ...string) string {
	w.t.Helper()
	return w.finish(w.program(w.t.Context(), w.toolhost(), w.arguments(args...)...))
}

func (w *world) finish(cmd *exec.Cmd) string {
	w.t.Helper()
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		w.t.Fatalf("%s: %v\n%s\n%s", strings.Join(cmd.Args, " "), err, &out, &complaints)
	}
	return out.String()
}

// server is toolhost as it serves MCP over HTTP.
type server struct {
	url, token string
	log        *lines
}

var served = regexp.MustCompile(`https?://[^\s"]+/mcp`)

// serve runs toolhost serve --mcp http until the test has ended.
func (w *world) serve(args ...string) server {
	w.t.Helper()
	s := server{token: strings.TrimSpace(w.run("tokens", "new", "suite")), log: newLines()}
	ctx, end := context.WithCancel(context.Background())
	cmd := w.program(ctx, w.toolhost(), w.arguments(append([]string{
		"serve", "--mcp", "http", "--listen", "127.0.0.1:0", "--log-level", "info",
	}, args...)...)...)
	cmd.Stderr = s.log
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := cmd.Wait(); err != nil && !errors.Is(err, context.Canceled) {
			_, _ = fmt.Fprintf(s.log, "toolhost serve: %v\n", err)
		}
	}()
	w.t.Cleanup(func() {
		end()
		<-ended
		if w.t.Failed() {
			w.t.Logf("toolhost serve:\n%s", s.log)
		}
	})
	s.url = served.FindString(s.log.await(w.t, func(line string) bool { return served.MatchString(line) }))
	return s
}

// proxy is a server on a port of this machine that adds the token to each request for toolhost,
// as the suite cannot, and changes nothing else.
type proxy struct{ *httptest.Server }

func newProxy(t *testing.T) proxy {
	p := proxy{httptest.NewUnstartedServer(nil)}
	t.Cleanup(p.Close)
	return p
}

// origin is that of the proxy's pages.
func (p proxy) origin() string { return "http://" + p.Listener.Addr().String() }

// start has the proxy serve in front of s, and returns the endpoint.
func (p proxy) start(t *testing.T, s server) string {
	t.Helper()
	target := require.Must(url.Parse(s.url))(t)
	pass := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
		r.Out.Header.Set("Authorization", "Bearer "+s.token)
		r.Out.Host = r.In.Host
	}, ErrorLog: log.New(io.Discard, "", 0)}
	p.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The proxy could not read the end of a body after the answer has begun, for which
		// net/http closes the body: it would give up the connection, and cut the answer short.
		text, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler) // the client has left
		}
		r.Body = io.NopCloser(bytes.NewReader(text))
		pass.ServeHTTP(w, r)
	})
	p.Start()
	return p.URL + target.Path
}

// lines is what a process has written so far.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // closed when there is more
}

func newLines() *lines { return &lines{more: make(chan struct{})} }

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.more)
	l.more = make(chan struct{})
	return l.text.Write(p)
}

func (l *lines) String() string {
	text, _ := l.now()
	return text
}

func (l *lines) now() (string, chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String(), l.more
}

// await returns the first line that fits.
func (l *lines) await(t *testing.T, fits func(string) bool) string {
	t.Helper()
	deadline := time.After(limit)
	for {
		text, more := l.now()
		for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
			if fits(s.Text()) {
				return s.Text()
			}
		}
		select {
		case <-more:
		case <-deadline:
			t.Fatalf("the line does not come:\n%s", text)
		}
	}
}
