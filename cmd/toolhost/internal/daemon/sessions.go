package daemon

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// sessions are the named sessions of a daemon. They outlive commands: plugins keep state for
// them. Each belongs to one caller, and others cannot use it, whatever they call theirs.
type sessions struct {
	host   *host.Host
	bounds func() config.Sessions // those in effect

	mu  sync.Mutex
	all map[sessionKey]*namedSession
}

type sessionKey struct{ caller, name string }

// namedSession is one of them. Its session has no grants: each call brings those of its caller.
type namedSession struct {
	session     *host.Session
	began, used time.Time
	calls       int         // in progress
	idle        *time.Timer // ends it; stopped during calls
}

func newSessions(h *host.Host, bounds func() config.Sessions) *sessions {
	return &sessions{host: h, bounds: bounds, all: map[sessionKey]*namedSession{}}
}

// join returns a caller's session for one call, which ends with leave. Begun reports whether the
// session is new.
func (s *sessions) join(c setup.Caller, name string) (_ *host.Session, begun bool, leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sessionKey{c.Name(), name}
	one := s.all[key]
	if begun = one == nil; begun {
		if one, err = s.begin(key); err != nil {
			return nil, false, nil, err
		}
	}
	one.idle.Stop()
	one.calls++
	one.used = time.Now()
	return one.session, begun, func() { s.leave(one) }, nil
}

// begin begins a session, unless the caller has as many as it may have. The caller holds mu.
func (s *sessions) begin(key sessionKey) (*namedSession, error) {
	own := 0
	for other := range s.all {
		if other.caller == key.caller {
			own++
		}
	}
	if most := s.bounds().Max; own >= most {
		return nil, &tool.Error{
			Code: tool.CodeResourceExhausted,
			Message: fmt.Sprintf("the session %s cannot begin: the caller %s has %d sessions, "+
				"and sessions.max in the configuration allows no more", key.name, key.caller, own),
			Hint: "end one with toolhost sessions end NAME; toolhost sessions shows them",
		}
	}
	// The ID is new each time: a session that ended leaves nothing to the next one of its name.
	id := host.WithSessionID(key.name + ":" + rand.Text())
	one := &namedSession{session: s.host.Session(id, host.WithCaller(host.Caller{Name: key.caller})), began: time.Now()}
	one.idle = time.AfterFunc(time.Hour, func() { s.endIdle(key, one) })
	s.all[key] = one
	return one, nil
}

// leave ends a call, from which on the session is idle.
func (s *sessions) leave(one *namedSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.used = time.Now()
	if one.calls--; one.calls > 0 {
		return
	}
	if most := s.bounds().IdleTime; most > 0 {
		one.idle.Reset(most)
	}
}

// endIdle ends a session without calls, if it is still there.
func (s *sessions) endIdle(key sessionKey, one *namedSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[key] == one && one.calls == 0 {
		s.remove(key, one)
	}
}

// end ends a session of a caller. Calls in progress go on.
func (s *sessions) end(caller, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sessionKey{caller, name}
	one := s.all[key]
	if one == nil {
		return tool.Errorf(tool.CodeNotFound, "the caller %s has no session %s", caller, name).
			Try("toolhost sessions shows the sessions")
	}
	s.remove(key, one)
	return nil
}

// remove ends a session. The caller holds mu.
func (s *sessions) remove(key sessionKey, one *namedSession) {
	one.idle.Stop()
	delete(s.all, key)
	_ = one.session.Close(context.Background()) // which cannot fail
}

// close ends all sessions.
func (s *sessions) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, one := range s.all {
		s.remove(key, one)
	}
}

// count counts the sessions.
func (s *sessions) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// list returns the sessions of one caller, or of all if caller is empty, sorted by caller and name.
func (s *sessions) list(caller string) []control.SessionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []control.SessionInfo{}
	for key, one := range s.all {
		if caller != "" && key.caller != caller {
			continue
		}
		out = append(out, control.SessionInfo{
			Caller: key.caller, Name: key.name, ID: one.session.ID(), Began: one.began, Used: one.used,
			Calls: one.calls, Plugins: one.session.Plugins(),
		})
	}
	slices.SortFunc(out, func(a, b control.SessionInfo) int {
		return cmp.Or(cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func (d *daemon) ListSessions(ctx context.Context, _ *daemonv1.ListSessionsRequest) (*daemonv1.ListSessionsResponse, error) {
	c := control.CallerOf(ctx)
	if c.Operator {
		c.Name = ""
	}
	return &daemonv1.ListSessionsResponse{Sessions: control.Messages[daemonv1.Session](d.sessions.list(c.Name))}, nil
}

func (d *daemon) EndSession(ctx context.Context, r *daemonv1.EndSessionRequest) (*daemonv1.EndSessionResponse, error) {
	return &daemonv1.EndSessionResponse{}, d.sessions.end(control.CallerOf(ctx).Name, r.GetName())
}
