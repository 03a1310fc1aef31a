package fleet

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// account is what this host keeps of a caller's host, by its key.
type account struct {
	calls  atomic.Int32
	starts int // guarded by the lock of inbound
}

// callingHost is what this host keeps of one start of another host that calls here. It outlives links.
type callingHost struct {
	inbound *inbound
	id      string
	key     string
	paid    *account

	mu       sync.Mutex
	links    []*servedLink
	sessions map[sessionKey]*remoteSession
	expiry   *time.Timer
	rests    bool // it has closed its link as there was nothing to say, and is there: it does not expire
}

// inbound has the hosts that call here.
type inbound struct {
	*presence
	directory *directory
	queue     *queue
	view      func() View

	mu         sync.Mutex
	closed     bool
	byInstance map[string]*callingHost
	accounts   map[string]*account // by key
}

// sessionKey names a session of the other host.
type sessionKey struct{ session, caller string }

// remoteSession is a session here in which the calls of one session there run.
type remoteSession struct {
	base    *host.Session // without grants
	session *host.Session // with those of the configuration that has the number epoch
	epoch   uint64
	used    time.Time
}

// of returns what is kept of an instance; nil: there are too many.
func (s *inbound) of(a *announcement) *callingHost {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := a.id()
	v := s.byInstance[id]
	if v == nil {
		if len(s.byInstance) >= maxLinks || s.closed {
			return nil
		}
		paid := s.accounts[a.Key]
		if paid == nil {
			paid = new(account)
			s.accounts[a.Key] = paid
		}
		if paid.starts >= maxStarts && a.Key != s.settings.Load().Key.public {
			return nil
		}
		paid.starts++
		v = &callingHost{inbound: s, id: id, key: a.Key, paid: paid, sessions: map[sessionKey]*remoteSession{}}
		s.byInstance[id] = v
	}
	return v
}

// callsOf returns how many calls of the hosts with a key run here.
func (s *inbound) callsOf(key string) int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if paid := s.accounts[key]; paid != nil {
		return paid.calls.Load()
	}
	return 0
}

// admit adds a link, in the place of one that was never proven if there are too many.
func (v *callingHost) admit(g *servedLink) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.expiry != nil {
		v.expiry.Stop()
		v.expiry = nil
	}
	v.rests = false
	if len(v.links) >= maxLinksOfHost {
		oldest := v.links[0] // of a host that has made another since
		for _, other := range v.links {
			select {
			case <-other.link.Proven():
			default:
				oldest = other
			}
		}
		oldest.link.Fail(errors.New("another link has taken its place"))
		v.drop(oldest)
	}
	v.links = append(v.links, g)
}

func (v *callingHost) drop(g *servedLink) {
	v.links = slices.DeleteFunc(v.links, func(other *servedLink) bool { return other == g })
}

// hasLinks reports whether other hosts have links to this one.
func (s *inbound) hasLinks() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.byInstance {
		v.mu.Lock()
		n := len(v.links)
		v.mu.Unlock()
		if n > 0 {
			return true
		}
	}
	return false
}

// disconnected ends the links that went over the connection.
func (s *inbound) disconnected() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.byInstance {
		v.dismiss(errConnection, func(g *servedLink) bool { return s.lostSince(g.reconnects) })
	}
}

// close returns the hosts that call here; no more are taken.
func (s *inbound) close() map[string]*callingHost {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.byInstance
	s.closed, s.byInstance = true, nil
	return all
}

// linger has a host without links expire. The lock is held.
func (v *callingHost) linger() {
	if len(v.links) == 0 && v.expiry == nil && !v.rests {
		v.expiry = time.AfterFunc(keptFor, v.expire)
	}
}

// expire ends the sessions of a host that has not come back.
func (v *callingHost) expire() {
	all := v.inbound
	all.mu.Lock()
	v.mu.Lock()
	gone := len(v.links) == 0
	if gone && all.byInstance[v.id] == v {
		delete(all.byInstance, v.id)
		v.paid.starts--
	}
	sessions := v.sessions
	if gone {
		v.sessions = map[sessionKey]*remoteSession{}
	}
	v.mu.Unlock()
	all.mu.Unlock()
	if gone {
		end(sessions)
	}
}

func end(sessions map[sessionKey]*remoteSession) {
	for _, s := range sessions {
		_ = s.base.Close(context.Background())
	}
}

// dismiss ends the links of an instance that is gone; its sessions are kept for a while, as it may be
// only its connection that is.
func (s *inbound) dismiss(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.byInstance[id]; v != nil {
		v.dismiss(errors.New("the host is gone"), func(*servedLink) bool { return true })
	}
}

// dismiss ends those links that which reports.
func (v *callingHost) dismiss(why error, which func(*servedLink) bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, g := range v.links {
		if which(g) {
			g.link.Fail(why)
		}
	}
	v.rests = false
	v.linger()
}

// leave ends the links and sessions of a host.
func (v *callingHost) leave() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.expiry != nil {
		v.expiry.Stop()
	}
	for _, g := range v.links {
		_ = g.link.Close()
	}
	end(v.sessions)
	v.sessions = map[sessionKey]*remoteSession{}
}

// endSession ends the sessions here of one there.
func (v *callingHost) endSession(session string) {
	v.mu.Lock()
	ended := map[sessionKey]*remoteSession{}
	for key, s := range v.sessions {
		if key.session == session {
			delete(v.sessions, key)
			ended[key] = s
		}
	}
	v.mu.Unlock()
	end(ended)
}

// sessionOf returns the session in which a call runs.
//
// # Errors
//
// [tool.CodeResourceExhausted]; those of [Config.Accept].
func (g *servedLink) sessionOf(c *configured, peer string, call *tool.Call) (*host.Session, error) {
	key := sessionKey{call.Session, call.Caller}
	g.mu.Lock()
	s := g.sessions[key]
	if s != nil && s.epoch == c.epoch {
		defer g.mu.Unlock()
		s.used = time.Now()
		return s.session, nil
	}
	full := s == nil && len(g.sessions) >= maxSessions && !g.evict()
	g.mu.Unlock()
	if full {
		return nil, tool.Errorf(tool.CodeResourceExhausted, "its host has %d sessions here", maxSessions)
	}
	caller := Caller{Peer: peer, Host: g.called, Name: call.Caller}
	by := host.Caller{Name: caller.String(), Account: caller.Account(), Via: Owner, Client: "toolhost on " + g.called}
	var options []host.SessionOption
	if c.Accept != nil {
		var err error
		if options, err = c.Accept(caller); err != nil {
			return nil, err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s = g.sessions[key]
	if s == nil {
		// Accept may have the host count several callers as one.
		by = g.inbound.host.Session(append([]host.SessionOption{host.WithCaller(by)}, options...)...).Caller()
		s = &remoteSession{base: g.inbound.host.Session(host.WithCaller(by))}
		g.sessions[key] = s
	}
	s.session, s.epoch, s.used = s.base.With(options...), c.epoch, time.Now()
	return s.session, nil
}

// evict ends the session that was used longest ago, of those for which no plugin keeps state. The lock is
// held.
func (v *callingHost) evict() bool {
	var oldest sessionKey
	var found *remoteSession
	for key, s := range v.sessions {
		if (found == nil || s.used.Before(found.used)) && len(s.base.Plugins()) == 0 {
			oldest, found = key, s
		}
	}
	if found != nil {
		delete(v.sessions, oldest)
		_ = found.base.Close(context.Background())
	}
	return found != nil
}
