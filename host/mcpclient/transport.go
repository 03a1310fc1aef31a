package mcpclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/mcpline"
	"github.com/toolhost/toolhost/internal/address"
)

// transport returns the transport of a connection, and sets l.abort.
func (u *Upstream) transport(
	l *link, stdio io.ReadWriteCloser, handler auth.OAuthHandler,
) (mcp.Transport, error) {
	if u.config.Transport == transportStdio {
		if stdio == nil {
			return nil, errors.New("no process is run for it")
		}
		l.abort = stdio.Close
		return &pipe{l: l, Transport: &lines{l, stdio}}, nil
	}
	origin, err := url.Parse(u.config.URL)
	if err != nil {
		return nil, err
	}
	t := &roundTripper{l: l, base: newBase(), origin: origin}
	client := &http.Client{Transport: t, CheckRedirect: withinHost}
	opened := &opened{}
	l.abort = func() error {
		opened.close()
		t.base.CloseIdleConnections()
		return nil
	}
	if u.config.Transport == transportSSE {
		opened.Transport = &pipe{l: l, lenient: true, Transport: &mcp.SSEClientTransport{
			Endpoint: u.config.URL, HTTPClient: client, MaxEventSize: mcpline.MaxMessage,
		}}
	} else {
		opened.Transport = &mcp.StreamableClientTransport{
			Endpoint: u.config.URL, HTTPClient: client, MaxEventSize: mcpline.MaxMessage, OAuthHandler: handler,
		}
	}
	return opened, nil
}

// lines is the transport of a program's standard input and output.
type lines struct {
	l     *link
	stdio io.ReadWriteCloser
}

// Connect implements [mcp.Transport].
func (t *lines) Connect(context.Context) (mcp.Connection, error) {
	c := mcpline.New(t.stdio, t.stdio)
	c.Skips = true
	c.Check = func(line []byte, _ []jsonrpc.Message, err error) (bool, error) {
		switch {
		case err == nil:
			return true, nil
		// Some print their log as JSON, too.
		case (line[0] == '{' || line[0] == '[') && bytes.Contains(line, []byte(`"jsonrpc"`)) && json.Valid(line):
			return false, t.l.malformed(err)
		}
		return false, t.l.stray(line)
	}
	return c, nil
}

// checkURL reports why a URL cannot be that of a server.
func checkURL(text string, plaintext bool) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("the URL cannot be read") // its text may have secrets
	case u.Host == "":
		return errors.New("the URL has no host")
	case u.User != nil:
		return errors.New("the URL has a user and a password: send them in a header")
	case u.Scheme == "https":
		return nil
	case u.Scheme != "http":
		return fmt.Errorf("the URL begins with %s: use https", u.Scheme)
	case plaintext || address.IsLoopback(u.Hostname()):
		return nil
	}
	return errors.New("the URL is http, so that others on the way could read calls and tokens: " +
		"use https, or allow plaintext")
}

// The bounds of requests. There is none for the time in which a call is answered: that is the
// call's own.
const (
	dialTime      = 10 * time.Second
	answerTime    = 30 * time.Second // for the headers of an answer to what is not a call
	maxHeaders    = 256 << 10        // bytes
	maxErrorBody  = 1 << 20          // bytes of an answer that is not a success
	maxRedirects  = 5
	idleTime      = 90 * time.Second
	maxIdlePerURL = 4
)

func newBase() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: dialTime}).DialContext,
		TLSHandshakeTimeout:    dialTime,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: maxHeaders,
		IdleConnTimeout:        idleTime,
		MaxIdleConnsPerHost:    maxIdlePerURL,
	}
}

// withinHost refuses redirects that leave the host, or TLS.
func withinHost(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	if !sameOrigin(req.URL, via[0].URL) {
		return fmt.Errorf("the server redirects to %s://%s, where its tokens and headers must not go: "+
			"use that URL, if it is the server's", req.URL.Scheme, req.URL.Host)
	}
	return nil
}

func sameOrigin(a, b *url.URL) bool {
	port := func(u *url.URL) string {
		return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	return a.Scheme == b.Scheme && a.Hostname() == b.Hostname() && port(a) == port(b)
}

// implementation is what servers see of the host.
func implementation() *mcp.Implementation {
	return &mcp.Implementation{Name: "toolhost", Title: "toolhost", Version: host.Version}
}
