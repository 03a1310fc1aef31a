package mcpserver

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// maxLogLine bounds a line that a client is sent, in bytes.
const maxLogLine = 8 << 10

// logLine sends a line that a tool logs to the client, if it asked for its level.
func (r *running) logLine(level slog.Level, line string) {
	r.Log(r, &mcp.LoggingMessageParams{Level: mcpLevel(level), Logger: "toolhost", Data: sanitize.Line(line, maxLogLine)})
}

// logs reports whether the client asked for log lines.
func (at *request) logs() bool {
	if at.latest {
		level, _ := at.meta[mcp.MetaKeyLogLevel].(string)
		return level != ""
	}
	return at.client.loggable.Load()
}

// maxNotes bounds what a client has not read yet of a call's progress and log; more is dropped.
const maxNotes = 256

// noteQueue sends a client what is told of a call, in order. A client that does not read makes no
// tool wait, nor a mounted server, whose connection has the calls of others too.
type noteQueue struct {
	mu     sync.Mutex
	queue  chan func()
	done   chan struct{}
	closed bool
}

func (q *noteQueue) add(send func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	if q.queue == nil {
		q.queue, q.done = make(chan func(), maxNotes), make(chan struct{})
		go func() {
			defer close(q.done)
			for send := range q.queue {
				send()
			}
		}()
	}
	select {
	case q.queue <- send:
	default:
	}
}

// close returns when all is sent.
func (q *noteQueue) close() {
	q.mu.Lock()
	q.closed = true
	queue, done := q.queue, q.done
	q.mu.Unlock()
	if queue != nil {
		close(queue)
		<-done
	}
}

func mcpLevel(l slog.Level) mcp.LoggingLevel {
	switch {
	case l >= slog.LevelError:
		return "error"
	case l >= slog.LevelWarn:
		return "warning"
	case l >= slog.LevelInfo:
		return "info"
	}
	return "debug"
}

// levels are those of the protocol. No other reaches a mounted server, which could refuse all
// requests for it: those of other clients carry the level too.
var levels = []mcp.LoggingLevel{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// lowest returns the level of those that lets more through; empty lets nothing.
func lowest(a, b mcp.LoggingLevel) mcp.LoggingLevel {
	if a == "" || b != "" && slices.Index(levels, b) < slices.Index(levels, a) {
		return b
	}
	return a
}

// setLevel tells mounted servers from which level on their log lines are wanted: the lowest of
// all clients; each client is sent what it asked for. A nil session: one request wants it.
func (s *Server) setLevel(ctx context.Context, ss *mcp.ServerSession, level mcp.LoggingLevel) {
	if !slices.Contains(levels, level) {
		return
	}
	s.mu.Lock()
	known := false
	if ss == nil {
		before := s.wanted
		s.wanted = lowest(before, level)
		known = s.wanted == before
	} else {
		s.levels[ss] = level
	}
	if c := s.sessions[ss]; c != nil {
		c.loggable.Store(true)
	}
	s.mu.Unlock()
	if known {
		return
	}
	for _, r := range s.relays() {
		s.tellLevel(ctx, r)
	}
}

// tellLevel tells a mounted server the lowest level of all clients, if one has asked for any.
func (s *Server) tellLevel(ctx context.Context, r *relay) {
	s.mu.Lock()
	low := s.wanted
	for _, l := range s.levels {
		low = lowest(low, l)
	}
	s.mu.Unlock()
	if low == "" {
		return
	}
	if err := r.SetLevel(ctx, low); err != nil {
		s.opts.Logger.Warn("a mounted server does not take the level of its log", "server", r.name, "error", err)
	}
}
