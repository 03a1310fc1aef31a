package mcpclient

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/internal/mcpline"
)

// roundTripper makes the requests of a connection over HTTP. The SDK's connection cannot be wrapped,
// as it learns of the revision by a method that is not exported; so what the server sends is
// seen here, in the bodies of its answers.
type roundTripper struct {
	l      *link
	base   *http.Transport
	origin *url.URL
}

// RoundTrip implements [http.RoundTripper].
func (t *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if !sameOrigin(req.URL, t.origin) {
		return nil, fmt.Errorf("the server names %s://%s, where its tokens and headers must not go",
			req.URL.Scheme, req.URL.Host)
	}
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(t.l.life, cancel)
	end := func() { stop(); cancel() }
	out := req.Clone(ctx)
	for name, values := range t.l.u.config.Headers {
		out.Header[http.CanonicalHeaderKey(name)] = values
	}
	if bearer := req.Header["Authorization"]; bearer != nil {
		out.Header["Authorization"] = bearer
	}
	if err := t.authorize(out); err != nil {
		end()
		return nil, err
	}
	call := callOf(req.Context())
	var late *time.Timer
	if r := requestIn(req); r == nil {
		// A request is answered when it is done, anything else at once.
		late = time.AfterFunc(answerTime, cancel)
	} else if call != nil {
		call.sent(r)
	}
	resp, err := t.base.RoundTrip(out)
	if late != nil && !late.Stop() && err == nil {
		_ = resp.Body.Close()
		err = fmt.Errorf("no answer in %s", answerTime)
	}
	if err != nil {
		end()
		return nil, err
	}
	t.l.denied.Store(resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden)
	body := &observedBody{ReadCloser: resp.Body, l: t.l, call: call, end: end, most: mcpline.MaxMessage}
	media, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	events := strings.TrimSpace(strings.ToLower(media)) == "text/event-stream"
	piped := t.l.u.config.Transport == transportSSE // whose messages the pipe receives
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		body.next, body.most = body.whole, maxErrorBody
	case piped && events:
		body.next = body.rest
	case piped:
		body.next = body.whole
	case events:
		body.next = body.event
	default:
		body.next = body.answer
	}
	body.in = bufio.NewReader(body.ReadCloser)
	resp.Body = body
	return resp, nil
}

// authorize adds the token to a request of the older transport, for which the SDK does not.
func (t *roundTripper) authorize(req *http.Request) error {
	if t.l.u.tokens == nil || t.l.u.config.Transport != transportSSE {
		return nil
	}
	token, err := t.l.u.tokens.Token()
	if err == nil && token != nil {
		token.SetAuthHeader(req)
	}
	return err
}

// requestIn returns the request, which wants an answer, that an HTTP request carries; nil: none.
func requestIn(req *http.Request) *jsonrpc.Request {
	if req.Method != http.MethodPost || req.GetBody == nil {
		return nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return nil
	}
	msg, _ := mcpline.Decode(text)
	if r, ok := msg.(*jsonrpc.Request); ok && r.IsCall() {
		return r
	}
	return nil
}

// observedBody is the body of an answer. It is bounded, and each message in it is received before the
// SDK has what is left of it.
type observedBody struct {
	io.ReadCloser
	l    *link
	call *openCall // whose request is answered; nil: that of none
	end  func()
	most int // bytes, unless it is a stream

	in   *bufio.Reader
	next func() ([]byte, error) // what comes next, for the SDK
	out  []byte                 // what came, and was not read
	err  error
}

// Read implements [io.Reader].
func (b *observedBody) Read(p []byte) (int, error) {
	for len(b.out) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.out, b.err = b.next()
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	return n, nil
}

// Close implements [io.Closer].
func (b *observedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// rest returns what comes, as it comes.
func (b *observedBody) rest() ([]byte, error) {
	if _, err := b.in.Peek(1); err != nil {
		return nil, err
	}
	part, _ := b.in.Peek(b.in.Buffered())
	_, err := b.in.Discard(len(part))
	return bytes.Clone(part), err
}

// whole returns the body.
func (b *observedBody) whole() ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(b.in, int64(b.most)+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > b.most:
		return nil, fmt.Errorf("an answer has more than %d bytes", b.most)
	}
	return text, io.EOF
}

// answer returns a body that is a message.
func (b *observedBody) answer() ([]byte, error) {
	text, err := b.whole()
	if len(text) == 0 {
		return nil, err
	}
	left, end := b.message(text)
	if left == nil {
		left = text
	}
	return left, cmp.Or(end, err)
}

// event returns an event of a stream of them (HTML standard, "Server-sent events").
func (b *observedBody) event() ([]byte, error) {
	var out, data []byte
	var err error
	kind, size := "", 0
	for line := []byte{' '}; len(line) > 0 && err == nil; {
		line, err = mcpline.ReadLine(b.in)
		if size += len(line); size > mcpline.MaxMessage || errors.Is(err, mcpline.ErrTooLong) { // of this answer alone
			return nil, mcpline.ErrSkipped
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch string(name) {
		case "data":
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
			continue
		case "event":
			kind = string(bytes.TrimSpace(value))
		}
		if len(line) > 0 {
			out = append(append(out, line...), '\n')
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(data) > 0 && (kind == "" || kind == "message") {
		var end error
		if data, end = b.message(data); end != nil {
			return nil, end
		}
	}
	if len(data) > 0 {
		out = append(append(out, "data: "...), bytes.ReplaceAll(data, []byte("\n"), []byte("\ndata: "))...)
		out = append(out, '\n')
	}
	return append(out, '\n'), err
}

// message receives a message, and returns what is left of it for the SDK.
func (b *observedBody) message(text []byte) ([]byte, error) {
	msg, err := mcpline.Decode(text)
	if err != nil {
		return text, nil //nolint:nilerr // the SDK says what is wrong with it
	}
	left, err := b.l.receive(b.call, msg)
	switch {
	case err != nil || left == nil:
		return nil, err
	case left == msg:
		return text, nil
	}
	return mcpline.Encode(left)
}

// opened is a transport whose connection can be closed when the SDK failed to connect by it.
type opened struct {
	mcp.Transport

	mu   sync.Mutex
	conn mcp.Connection
}

// Connect implements [mcp.Transport].
func (o *opened) Connect(ctx context.Context) (conn mcp.Connection, err error) {
	conn, err = o.Transport.Connect(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.conn = conn
	return conn, err
}

func (o *opened) close() {
	o.mu.Lock()
	conn := o.conn
	o.mu.Unlock()
	if conn != nil {
		_ = conn.Close()
	}
}
