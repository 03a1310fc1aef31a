package pluginsource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/toolhost/toolhost/internal/address"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// Times after which a server is given up on. One that is slow is waited for as long as bytes come; one
// that sends nothing for stallTime is not asked again.
const (
	connectTime = 10 * time.Second
	headerTime  = 30 * time.Second
	stallTime   = 30 * time.Second
)

// maxRedirects is how many redirects are followed.
const maxRedirects = 5

// errStalled is the cause if a server sent nothing for too long.
var errStalled = errors.New("the server sent nothing for too long")

// guard is the transport of one source. It decides which servers are asked, what they learn,
// and how long they are waited for.
type guard struct {
	origin string // host and port of the server that the operator named
	leash  *address.Leash
	next   http.RoundTripper
	stall  time.Duration
}

// newClient returns a client for the server of a URL.
func newClient(u *url.URL) *http.Client {
	g := &guard{origin: address.HostPort(u), leash: address.NewLeash(u), stall: stallTime}
	g.next = &retry.Transport{
		Base: &http.Transport{
			Proxy: g.leash.Proxy, DialContext: g.leash.Dial, ForceAttemptHTTP2: true, DisableCompression: true,
			TLSHandshakeTimeout: connectTime, ResponseHeaderTimeout: headerTime, MaxResponseHeaderBytes: 64 << 10,
			IdleConnTimeout: headerTime,
		},
		Policy: func() retry.Policy {
			return &retry.GenericPolicy{
				Retryable: retry.DefaultPredicate, Backoff: retry.DefaultBackoff,
				MinWait: 200 * time.Millisecond, MaxWait: 3 * time.Second, MaxRetry: 3,
			}
		},
	}
	return &http.Client{Transport: g, CheckRedirect: redirect}
}

// redirect bounds how many redirects are followed, and keeps credentials from other servers: ports
// count too.
func redirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return &refusedError{fmt.Sprintf("%s redirects more than %d times", via[0].URL.Host, maxRedirects)}
	}
	if address.HostPort(req.URL) != address.HostPort(via[0].URL) {
		for _, name := range []string{"Authorization", "Cookie", "Www-Authenticate", "Proxy-Authorization"} {
			req.Header.Del(name)
		}
	}
	return nil
}

// refusedError says why a server is not asked. Trying again does not help.
type refusedError struct{ text string }

func (e *refusedError) Error() string { return e.text }

// RoundTrip implements [http.RoundTripper].
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	at := sanitize.Quote(req.URL.Host, 200)
	foreign := address.HostPort(req.URL) != g.origin
	if req.URL.Scheme != "https" && (req.URL.Scheme != "http" || !address.IsLoopback(req.URL.Hostname())) {
		return nil, &refusedError{fmt.Sprintf("%s leads to %s by %s, and only https is followed", g.origin, at, sanitize.Quote(req.URL.Scheme, 20))}
	}
	if err := g.leash.Follow(req.URL); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	watch := time.AfterFunc(g.stall, func() { cancel(errStalled) }) // with all that is tried again below
	resp, err := g.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		watch.Stop()
		if cause := context.Cause(ctx); errors.Is(cause, errStalled) {
			err = fmt.Errorf("%s: %w", at, cause)
		}
		cancel(nil)
		return nil, err
	}
	if foreign { // its demand would be answered with credentials for the origin
		resp.Header.Del("Www-Authenticate")
	}
	watch.Reset(g.stall)
	resp.Body = &watched{ReadCloser: resp.Body, ctx: ctx, cancel: cancel, timer: watch, limit: g.stall, host: at}
	return resp, nil
}

// watched is a body that ends with an error if nothing comes for too long.
type watched struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration
	host   string
}

func (w *watched) Read(p []byte) (int, error) {
	w.timer.Reset(w.limit)
	n, err := w.ReadCloser.Read(p)
	w.timer.Stop() // who reads may take its time
	if err != nil && !errors.Is(err, io.EOF) && errors.Is(context.Cause(w.ctx), errStalled) {
		err = fmt.Errorf("%s: %w", w.host, errStalled)
	}
	return n, err
}

func (w *watched) Close() error {
	w.timer.Stop()
	err := w.ReadCloser.Close()
	w.cancel(nil)
	return err
}
