package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolhost/toolhost/host/internal/mcpwire"
)

// tap makes the requests of a connection over HTTP. The SDK's connection cannot be wrapped,
// as it learns of the revision by a method that is not exported; so what the server sends is
// seen here, in the bodies of its answers.
type tap struct {
	l      *link
	base   *http.Transport
	origin *url.URL
}

func (u *Upstream) newTap(l *link) (*tap, error) {
	origin, err := url.Parse(u.config.URL)
	if err != nil {
		return nil, err
	}
	return &tap{l: l, base: newBase(), origin: origin}, nil
}

// RoundTrip implements [http.RoundTripper].
func (t *tap) RoundTrip(req *http.Request) (*http.Response, error) {
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
	id, answered := callID(req)
	var late *time.Timer
	if !answered {
		// A call is answered when it is done, anything else at once.
		late = time.AfterFunc(answerTime, cancel)
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
	body := &tapBody{ReadCloser: resp.Body, l: t.l, call: callOf(req.Context()), id: id, end: end, most: mcpwire.MaxMessage}
	media, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		body.most = maxErrorBody
	case strings.TrimSpace(strings.ToLower(media)) == "text/event-stream":
		body.events = true
	}
	resp.Body = body
	return resp, nil
}

// authorize adds the token to a request of the older transport, for which the SDK does not.
func (t *tap) authorize(req *http.Request) error {
	if t.l.u.tokens == nil || t.l.u.config.Transport != TransportSSE {
		return nil
	}
	token, err := t.l.u.tokens.Token()
	if err == nil && token != nil {
		token.SetAuthHeader(req)
	}
	return err
}

// callID returns the id of the call that a request carries, as JSON, and whether it is one.
func callID(req *http.Request) (json.RawMessage, bool) {
	if req.Method != http.MethodPost || req.GetBody == nil {
		return nil, false
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, false
	}
	var head struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.NewDecoder(body).Decode(&head) != nil {
		return nil, false
	}
	return head.ID, head.ID != nil && head.Method != ""
}

// tapBody is the body of an answer. It is bounded, and each message in it is seen before the
// SDK sees it.
type tapBody struct {
	io.ReadCloser
	l      *link
	call   *openCall       // whose request is answered; nil: that of none
	id     json.RawMessage // of the request
	end    func()
	events bool // whether it is a stream of events
	most   int  // bytes, unless it is a stream

	read  int
	line  []byte // the beginning of a line of a stream
	data  []byte // the data of an event, or the whole body
	ended bool
}

// Read implements [io.Reader].
func (b *tapBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.events {
		if wait := b.stream(p[:n]); wait != nil {
			return 0, wait
		}
		return n, err
	}
	if b.read += n; b.read > b.most {
		return 0, fmt.Errorf("an answer has more than %d bytes", b.most)
	}
	b.data = append(b.data, p[:n]...)
	if err == io.EOF && !b.ended {
		b.ended = true
		_ = b.message(b.data)
		b.data = nil
	}
	return n, err
}

// Close implements [io.Closer].
func (b *tapBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// stream takes bytes of a stream of events (HTML standard, "Server-sent events").
func (b *tapBody) stream(p []byte) error {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			if b.line = append(b.line, p...); len(b.line) > mcpwire.MaxMessage {
				return mcpwire.ErrTooLong
			}
			return nil
		}
		line := bytes.TrimSuffix(append(b.line, p[:i]...), []byte("\r"))
		b.line, p = b.line[:0], p[i+1:]
		if len(line) == 0 {
			data := b.data
			b.data = b.data[:0]
			if len(data) > 0 {
				if err := b.message(data); err != nil {
					return err
				}
			}
			continue
		}
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if len(b.data) > 0 {
				b.data = append(b.data, '\n')
			}
			if b.data = append(b.data, bytes.TrimPrefix(value, []byte(" "))...); len(b.data) > mcpwire.MaxMessage {
				return mcpwire.ErrTooLong
			}
		}
	}
	return nil
}

// message takes a message. It returns an error if the connection has ended.
func (b *tapBody) message(text []byte) error {
	msg, _ := jsonrpc.DecodeMessage(bytes.Clone(text)) // the SDK says what is wrong with one
	switch m := msg.(type) {
	case *jsonrpc.Response:
		if id, err := json.Marshal(m.ID.Raw()); err == nil && bytes.Equal(id, b.id) {
			b.call.keep(m.Result)
		}
	case *jsonrpc.Request:
		if err := b.l.wait(m.IsCall()); err != nil {
			return err
		}
		b.l.observe(b.call, m)
	}
	return nil
}

// secrets returns what must not be in an error: the values of headers.
func (u *Upstream) secrets() (out []string) {
	for values := range maps.Values(u.config.Headers) {
		for _, value := range values {
			out = append(out, value)
			if _, token, ok := strings.Cut(value, " "); ok {
				out = append(out, token)
			}
		}
	}
	if u.tokens != nil {
		out = append(out, u.tokens.secrets()...)
	}
	return append(out, u.config.OAuth.ClientSecret)
}
