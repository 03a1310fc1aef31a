package wire

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// health answers how the plugin is.
func (s *Server) health(ctx context.Context, _ *pluginv1.HealthRequest) (any, error) {
	if s.OnHealth == nil {
		return nil, status.Error(codes.Unimplemented, "the plugin has no health check")
	}
	return &pluginv1.HealthResponse{Problem: problemOf(contained("the health check", func() error { return s.OnHealth(ctx) }))}, nil
}

// shutdown finishes what the plugin does for itself.
func (s *Server) shutdown(ctx context.Context, _ *pluginv1.ShutdownRequest) (any, error) {
	if s.OnShutdown == nil {
		return nil, status.Error(codes.Unimplemented, "the plugin has nothing to finish")
	}
	return &pluginv1.ShutdownResponse{Problem: problemOf(contained("the shutdown", func() error { return s.OnShutdown(ctx) }))}, nil
}

func problemOf(err error) string {
	if err == nil {
		return ""
	}
	if text := clean(err.Error()); text != "" {
		return brief(text)
	}
	return "an error without a text"
}

// contained runs a function of the author's, whose panic becomes its error.
func contained(what string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%s panicked: %v", what, v)
		}
	}()
	return f()
}

// maxEnded bounds the sessions that have ended and of which the plugin was not told yet.
const maxEnded = 1024

// endedSessions tells the plugin of sessions that have ended, one after the other.
type endedSessions struct {
	mu    sync.Mutex
	queue []func()
	busy  bool // a goroutine tells of those in the queue, and ends after the last one
}

// add has the plugin told, unless it has not finished with too many others.
func (e *endedSessions) add(tell func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queue) >= maxEnded {
		return false
	}
	e.queue = append(e.queue, tell)
	if !e.busy {
		e.busy = true
		go e.work()
	}
	return true
}

func (e *endedSessions) work() {
	for {
		e.mu.Lock()
		if len(e.queue) == 0 {
			e.queue, e.busy = nil, false
			e.mu.Unlock()
			return
		}
		next := e.queue[0]
		e.queue = e.queue[1:]
		e.mu.Unlock()
		next()
	}
}

// sessionEnded tells the plugin that a session has ended, without waiting for it.
func (v *service) sessionEnded(b []byte) error {
	var p pluginv1.SessionEnded
	if err := proto.Unmarshal(b, &p); err != nil {
		return protocolError("the end of a session that cannot be read: %v", err)
	}
	run := v.server.OnSessionEnded
	if run == nil {
		return nil
	}
	tell := func() {
		err := contained("what is told of the ends of sessions", func() error { run(v.base, p.GetSession()); return nil })
		if err != nil {
			slog.Error(err.Error())
		}
	}
	if !v.server.ended.add(tell) {
		slog.Warn("the plugin is not told that a session has ended: it has not finished with earlier ones", "waiting", maxEnded)
	}
	return nil
}

// EndSession tells the plugin that no call of a session comes any more. The plugin must offer
// [FeatureSessionEnd]. A plugin that does not read what it is sent is not told.
func (s *Stream) EndSession(session string) {
	b := appendMessage(nil, &pluginv1.SessionEnded{Session: clean(session)})
	if len(b) > maxFrame || s.out.full() || s.Err() != nil {
		return
	}
	s.out.control(kindEnded, 0, b)
	s.out.flushAsync()
}

// retryAfter decodes how long to wait of an Error; d: it does not say.
func retryAfter(b []byte, d tool.Duration) tool.Duration {
	for len(b) > 0 {
		f, rest, err := consumeField(b)
		if err != nil {
			return d
		}
		if b = rest; f.key == fieldKey(errorRetry, varint) {
			d = boundedRetry(int64(f.value)) //nolint:gosec // as protobuf has it
		}
	}
	return d
}

func boundedRetry(ms int64) tool.Duration { return fromMilliseconds(min(max(ms, 0), maxRetryAfter)) }

// maxRetryAfter bounds what a plugin asks callers to wait, in milliseconds: a day.
const maxRetryAfter = 24 * 60 * 60 * 1000
