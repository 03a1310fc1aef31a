package mcpclient

import (
	"context"
	"crypto/subtle"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/toolhost/toolhost/internal/loopback"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// callback is the port to which the browser comes back.
type callback struct {
	url     string
	server  *http.Server
	state   chan string // of the login that is expected, one at a time
	results chan callbackResult
	done    chan struct{}
	came    atomic.Bool
}

type callbackResult struct {
	result *auth.AuthorizationResult
	err    error
}

const callbackPath = "/callback"

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

// expect sets the state that the browser has to bring.
func (c *callback) expect(state string) {
	select {
	case <-c.state:
	default:
	}
	c.state <- state
}

// ServeHTTP implements [http.Handler]. Any page that the user has open can send requests to the
// port, so one without the right state changes nothing.
func (c *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := net.SplitHostPort(r.Host)
	q := r.URL.Query()
	if r.Method != http.MethodGet || r.URL.Path != callbackPath || !loopback.Is(host) {
		http.NotFound(w, r)
		return
	}
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
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	_, _ = io.WriteString(w, text+"\n")
	c.came.Store(true)
	c.results <- out
}
