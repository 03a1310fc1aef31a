package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
)

// session is a client of MCP that does as little as one can, as the SDK's costs more than its server.
type session struct {
	// exchange sends a request, and returns the message that answers it; without a number: a notification.
	exchange func(ctx context.Context, number int64, request []byte) (*answer, error)
	last     *atomic.Int64
	cmd      *exec.Cmd
	in       io.Closer // ends the server
}

// answer is a message of a server, as far as it is looked at.
type answer struct {
	ID     int64
	Error  *struct{ Message string }
	Result struct {
		Content    []struct{ Text string }
		IsError    bool
		Tools      []struct{ Name string }
		NextCursor string
	}
}

func (s *session) request(ctx context.Context, method string, params any) (*answer, error) {
	n := s.last.Add(1)
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": n, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	return s.exchange(ctx, n, text)
}

// begin is the handshake.
func (s *session) begin(ctx context.Context) error {
	if _, err := s.request(ctx, "initialize", map[string]any{
		"protocolVersion": revision, "capabilities": struct{}{}, "clientInfo": map[string]string{"name": "bench", "version": "1"},
	}); err != nil {
		return err
	}
	_, err := s.exchange(ctx, 0, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	return err
}

const revision = "2025-11-25"

// caller calls tools, whose names begin with a prefix.
func (s *session) caller(prefix string) call {
	return func(ctx context.Context, tool string, arguments []byte) (string, error) {
		n := s.last.Add(1)
		a, err := s.exchange(ctx, n, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s%s","arguments":%s}}`,
			n, prefix, tool, arguments))
		if err != nil {
			return "", err
		}
		if a.Result.IsError || len(a.Result.Content) != 1 {
			return "", fmt.Errorf("tool %s did not answer with one text: %+v", tool, a.Result)
		}
		return a.Result.Content[0].Text, nil
	}
}

// list returns how many tools there are, on all pages.
func (s *session) list(ctx context.Context) (n int, err error) {
	for params := map[string]string{}; ; {
		a, err := s.request(ctx, "tools/list", params)
		if err != nil {
			return n, err
		}
		n += len(a.Result.Tools)
		if a.Result.NextCursor == "" {
			return n, nil
		}
		params["cursor"] = a.Result.NextCursor
	}
}

func (s *session) close() {
	_ = s.in.Close()
	_ = s.cmd.Wait()
}

// speak starts a server on standard input and output. One goroutine reads for all callers.
func speak(ctx context.Context, cmd *exec.Cmd) (*session, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	waiting := map[int64]chan *answer{} // nil: the server has ended
	go func() {
		defer func() {
			mu.Lock()
			defer mu.Unlock()
			for _, c := range waiting {
				close(c)
			}
			waiting = nil
		}()
		for lines := bufio.NewReader(out); ; {
			line, err := lines.ReadBytes('\n')
			a := &answer{}
			if err != nil || json.Unmarshal(line, a) != nil {
				return
			}
			mu.Lock()
			c := waiting[a.ID]
			delete(waiting, a.ID)
			mu.Unlock()
			if c != nil { // else it is a notification
				c <- a
			}
		}
	}()
	s := &session{last: &atomic.Int64{}, cmd: cmd, in: in}
	ended := errors.New("the server has ended")
	s.exchange = func(ctx context.Context, n int64, request []byte) (*answer, error) {
		c := make(chan *answer, 1)
		mu.Lock()
		if waiting == nil {
			mu.Unlock()
			return nil, ended
		}
		if n > 0 {
			waiting[n] = c
		}
		_, err := in.Write(append(request, '\n'))
		mu.Unlock()
		if n == 0 || err != nil {
			return nil, err
		}
		select {
		case a := <-c:
			if a == nil {
				return nil, ended
			}
			return a, a.err()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if err := s.begin(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (a *answer) err() error {
	if a.Error != nil {
		return errors.New(a.Error.Message)
	}
	return nil
}

// endpoint is a server over HTTP, and the session that all callers share.
type endpoint struct {
	to   *url.URL
	head string // of each request
	last *atomic.Int64
}

// dial gives a caller a connection of its own, until ctx ends.
func (e *endpoint) dial(ctx context.Context) (*session, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", e.to.Host)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	in := bufio.NewReader(conn)
	return &session{last: e.last, exchange: func(_ context.Context, n int64, request []byte) (*answer, error) {
		if _, err := conn.Write(append(fmt.Appendf(nil, "%sContent-Length: %d\r\n\r\n", e.head, len(request)), request...)); err != nil {
			return nil, err
		}
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || n == 0 {
			return nil, err
		}
		if id := res.Header.Get(sessionHeader); id != "" && !strings.Contains(e.head, sessionHeader) {
			e.head += sessionHeader + ": " + id + "\r\n"
		}
		if _, event, found := bytes.Cut(text, []byte("data: ")); found { // the last line of an event
			text = event
		}
		a := &answer{}
		if err := json.Unmarshal(text, a); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", res.Status, err, text)
		}
		return a, a.err()
	}}, nil
}

const sessionHeader = "Mcp-Session-Id"

// post begins a session over HTTP; empty: there is no token.
func post(ctx context.Context, address, token string) (*endpoint, error) {
	to, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	e := &endpoint{to: to, last: &atomic.Int64{}, head: fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: %s\r\n", to.Path, to.Host, revision)}
	if token != "" {
		e.head += "Authorization: Bearer " + token + "\r\n"
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := e.dial(ctx)
	if err != nil {
		return nil, err
	}
	return e, s.begin(ctx)
}
