package mcpclient

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/toolhost/toolhost/internal/address"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// callback is the port at which the browser begins, and to which it comes back. The page to log in has
// the state and the challenge of the login: at the port, it is on no command line, which others can read.
type callback struct {
	url     string
	server  *http.Server
	state   chan string // of the login that is expected, one at a time
	results chan callbackResult
	done    chan struct{}
	came    atomic.Bool

	mu    sync.Mutex
	start string // the path at which the browser begins; empty: no login is going on
	page  string // to which that leads; empty: it has been asked for
}

type callbackResult struct {
	result *auth.AuthorizationResult
	err    error
}

const (
	callbackPath = "/callback"
	startPath    = "/start/"
)

// newCallback listens on a port: the one that is configured, or that of the login before if it
// is free, for which a client is registered, or any.
func newCallback(port int, before string) (*callback, error) {
	if before, err := url.Parse(before); err == nil && port == 0 {
		port, _ = strconv.Atoi(before.Port())
	}
	listen := func(port int) (net.Listener, error) {
		return (&net.ListenConfig{}).Listen(context.Background(), "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	l, err := listen(port)
	if err != nil && before != "" {
		l, err = listen(0)
	}
	if err != nil {
		return nil, err
	}
	c := &callback{
		url: "http://" + l.Addr().String() + callbackPath, state: make(chan string, 1),
		results: make(chan callbackResult, 1), done: make(chan struct{}),
	}
	c.server = &http.Server{
		Handler: c, ReadHeaderTimeout: dialTime, ReadTimeout: dialTime, WriteTimeout: dialTime, MaxHeaderBytes: maxHeaders,
	}
	go func() {
		defer close(c.done)
		_ = c.server.Serve(l)
	}()
	return c, nil
}

func (c *callback) close() {
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	if c.server.Shutdown(ctx) != nil { // the page is still being sent
		_ = c.server.Close()
	}
	<-c.done
}

// used reports whether the browser came back.
func (c *callback) used() bool { return c.came.Load() }

// expect sets the state that the browser has to bring, and the page to log in. It returns the address at
// which that page is, once.
func (c *callback) expect(state, page string) (start string) {
	select {
	case <-c.state:
	default:
	}
	c.state <- state
	c.mu.Lock()
	defer c.mu.Unlock()
	c.start, c.page = startPath+rand.Text(), page
	return strings.TrimSuffix(c.url, callbackPath) + c.start
}

// ServeHTTP implements [http.Handler]. Any page that the user has open can send requests to the
// port, so one without the right state changes nothing; nor does one of another user.
func (c *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := net.SplitHostPort(r.Host)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	switch {
	case r.Method != http.MethodGet || !address.IsLoopback(host):
		http.NotFound(w, r)
	case !ofUser(r):
		http.Error(w, "This login is another user's.", http.StatusForbidden)
	case r.URL.Path == callbackPath:
		c.back(w, r.URL.Query())
	case strings.HasPrefix(r.URL.Path, startPath):
		c.begin(w, r)
	default:
		http.NotFound(w, r)
	}
}

// ofUser reports whether a request is of the user of this process, or of root, as far as the system tells.
func ofUser(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if err != nil || !ok {
		return false
	}
	uid, err := address.Owner(from, local.AddrPort())
	return errors.Is(err, errors.ErrUnsupported) || err == nil && (uid == 0 || uid == os.Getuid())
}

// begin leads to the page to log in, once. Where the system does not tell whose a request is, the first
// may have been another user's, who would log in with an account of their own.
func (c *callback) begin(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch page := c.page; {
	case subtle.ConstantTimeCompare([]byte(c.start), []byte(r.URL.Path)) != 1:
		http.NotFound(w, r)
	case page != "":
		c.page = ""
		http.Redirect(w, r, page, http.StatusFound)
	default:
		http.Error(w, "This page was opened before. The login has ended: log in again.", http.StatusGone)
		select {
		case <-c.state:
			c.came.Store(true)
			c.results <- callbackResult{err: errOpenedTwice}
		default: // it had ended before
		}
	}
}

var errOpenedTwice = errors.New("the page to log in was opened twice, and another may have been first: log in again")

// back takes what the browser brings.
func (c *callback) back(w http.ResponseWriter, q url.Values) {
	select {
	case state := <-c.state:
		if state == "" || subtle.ConstantTimeCompare([]byte(state), []byte(q.Get("state"))) != 1 {
			c.state <- state // it is still expected
			http.Error(w, "This is not the answer to the login that is going on.", http.StatusBadRequest)
			return
		}
	default:
		http.Error(w, "No login is going on.", http.StatusBadRequest)
		return
	}
	var out callbackResult
	text := "toolhost is authorized. You can close this page."
	if code := q.Get("code"); code != "" && q.Get("error") == "" {
		out.result = &auth.AuthorizationResult{Code: code, State: q.Get("state"), Iss: q.Get("iss")}
	} else {
		out.err = fmt.Errorf("the authorization server refused: %s",
			sanitize.Line(q.Get("error")+" "+q.Get("error_description"), maxStray))
		text = "toolhost is not authorized. You can close this page."
	}
	_, _ = io.WriteString(w, text+"\n")
	c.came.Store(true)
	c.results <- out
}
