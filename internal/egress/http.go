package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
)

// http serves the one HTTP request that begins with this byte.
func (s *session) http(first byte) {
	done := make(chan struct{})
	hijacked := false // written and read by the goroutine of the connection
	server := http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() {
				if hijacked {
					close(done)
				}
			}()
			s.answer(w, r)
		}),
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateHijacked:
				hijacked = true
			case http.StateClosed:
				close(done)
			case http.StateNew, http.StateActive, http.StateIdle:
			}
		},
		BaseContext:       func(net.Listener) context.Context { return s.ctx },
		ReadHeaderTimeout: handshakeTime,
		MaxHeaderBytes:    headerBytes,
		ErrorLog:          log.New(io.Discard, "", 0),
		Protocols:         http1(),

		DisableGeneralOptionsHandler: true,
	}
	server.SetKeepAlivesEnabled(false)
	_ = server.Serve(&single{conn: &begunConn{s.client.(*watchedConn), []byte{first}}, done: done})
}

func http1() *http.Protocols {
	var p http.Protocols
	p.SetHTTP1(true)
	return &p
}

// answer answers a request. Where it leads is in the request line alone: a Host header that
// differs counts for nothing (RFC 9112, section 3.2.2).
func (s *session) answer(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		s.answerConnect(w, r)
		return
	}
	t, err := targetOf(r)
	if err != nil {
		s.proxy.report(Refused, "", malformed)
		http.Error(w, fmt.Sprintf("the proxy of plugin %s: %v", s.proxy.opts.Plugin, err), http.StatusBadRequest)
		return
	}
	upstream, f := s.connect(r.Context(), t)
	if f != nil {
		http.Error(w, f.text, f.status)
		return
	}
	defer func() { _ = upstream.Close() }()
	s.forward(w, r, t, upstream)
}

// targetOf reads where a request other than CONNECT leads.
func targetOf(r *http.Request) (target, error) {
	switch {
	case r.URL.Scheme == "" || r.URL.Host == "":
		return target{}, errors.New("requests name a whole URL, such as http://example.com/, or use CONNECT")
	case r.URL.Scheme != "http":
		return target{}, fmt.Errorf("only http:// is forwarded; use CONNECT for %.20q", r.URL.Scheme)
	case r.URL.User != nil:
		return target{}, errors.New("a URL has no user here; send an Authorization header")
	}
	address := r.URL.Host
	if r.URL.Port() == "" {
		address = strings.TrimSuffix(address, ":") + ":80"
	}
	t, err := parseTarget(address)
	if err != nil {
		return target{}, fmt.Errorf("the URL's host: %w", err)
	}
	return t, nil
}

// forward sends the request over upstream. The standard library writes it again from what it
// has understood, so that no server reads it differently, and takes out what concerns one
// connection only (Connection, Proxy-Authorization and others).
func (s *session) forward(w http.ResponseWriter, r *http.Request, t target, upstream net.Conn) {
	authority := t.String()
	if t.port == 80 {
		authority = strings.TrimSuffix(authority, ":80")
	}
	transport := &http.Transport{
		DialContext:            func(context.Context, string, string) (net.Conn, error) { return upstream, nil },
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 4 * headerBytes,
		Protocols:              http1(),
	}
	proxy := httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Host, p.Out.Host = authority, authority
			p.Out.URL.RawQuery = p.In.URL.RawQuery
		},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			http.Error(w, t.String()+" did not answer as an HTTP server does", http.StatusBadGateway)
		},
	}
	proxy.ServeHTTP(w, r)
}

func (s *session) answerConnect(w http.ResponseWriter, r *http.Request) {
	var upstream net.Conn
	var f *failure
	if t, err := parseTarget(r.RequestURI); err != nil {
		s.proxy.report(Refused, "", malformed)
		f = &failure{status: http.StatusBadRequest, text: fmt.Sprintf("the proxy of plugin %s: the host: %v", s.proxy.opts.Plugin, err)}
	} else {
		// Not the request's context: a client that has sent everything ends that.
		upstream, f = s.connect(s.ctx, t)
	}
	_, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if f != nil {
		// Most clients show the status line of a failed CONNECT and leave out its body.
		_, _ = fmt.Fprintf(s.client, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n",
			f.status, f.text, len(f.text)+1, f.text)
		s.linger()
		return
	}
	if _, err := io.WriteString(s.client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	early, _ := buffered.Peek(buffered.Reader.Buffered())
	s.tunnel(early, upstream)
}

// single is a listener with one connection. Its Accept waits for the connection's end before
// it says that there are no more, and so does the server.
type single struct {
	conn net.Conn
	done <-chan struct{}
}

func (l *single) Accept() (net.Conn, error) {
	if conn := l.conn; conn != nil {
		l.conn = nil
		return conn, nil
	}
	<-l.done
	return nil, net.ErrClosed
}

func (*single) Close() error     { return nil }
func (l *single) Addr() net.Addr { return &net.TCPAddr{} }

// begunConn is a connection whose first byte was read.
type begunConn struct {
	*watchedConn
	begun []byte
}

func (c *begunConn) Read(b []byte) (int, error) {
	if len(c.begun) == 0 || len(b) == 0 {
		return c.watchedConn.Read(b)
	}
	n := copy(b, c.begun)
	c.begun = c.begun[n:]
	return n, nil
}
