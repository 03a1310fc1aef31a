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
	visits int // guarded by the lock of visits
}

// visit is what this host keeps of one start of another host that calls here. It outlives links.
type visit struct {
	visits *visits
	id     string
	key    string
	paid   *account

	mu       sync.Mutex
	guests   []*guest
	sessions map[sessionKey]*visitor
	expiry   *time.Timer
}

// visits are the hosts that call here.
type visits struct {
	*presence
	directory *directory
	queue     *queue

	mu         sync.Mutex
	closed     bool
	byInstance map[string]*visit
	accounts   map[string]*account // by key
}

// sessionKey names a session of the other host.
type sessionKey struct{ session, caller string }

// visitor is a session here in which the calls of one session there run.
type visitor struct {
	base    *host.Session // without grants
	session *host.Session // with those of the configuration that has the number epoch
	epoch   uint64
	used    time.Time
}

// of returns the visit of an instance; nil: there are too many.
func (s *visits) of(a *announcement) *visit {
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
		if paid.visits >= maxStarts && a.Key != s.settings.Load().Key.public {
			return nil
		}
		paid.visits++
		v = &visit{visits: s, id: id, key: a.Key, paid: paid, sessions: map[sessionKey]*visitor{}}
		s.byInstance[id] = v
	}
	return v
}

// admit adds a link, in the place of one that was never proven if there are too many.
func (v *visit) admit(g *guest) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.expiry != nil {
		v.expiry.Stop()
		v.expiry = nil
	}
	if len(v.guests) >= maxGuests {
		oldest := v.guests[0] // of a host that has made another since
		for _, other := range v.guests {
			select {
			case <-other.link.Proven():
			default:
				oldest = other
			}
		}
		oldest.link.Fail(errors.New("another link has taken its place"))
		v.drop(oldest)
	}
	v.guests = append(v.guests, g)
	return true
}

func (v *visit) drop(g *guest) {
	v.guests = slices.DeleteFunc(v.guests, func(other *guest) bool { return other == g })
}

// hasLinks reports whether other hosts have links to this one.
func (s *visits) hasLinks() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.byInstance {
		v.mu.Lock()
		n := len(v.guests)
		v.mu.Unlock()
		if n > 0 {
			return true
		}
	}
	return false
}

// disconnected ends the links that went over the connection.
func (s *visits) disconnected() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.byInstance {
		v.dismiss(errConnection, func(g *guest) bool { return s.lostSince(g.reconnects) })
	}
}

// close returns the visits; there are no more of them.
func (s *visits) close() map[string]*visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.byInstance
	s.closed, s.byInstance = true, nil
	return all
}

// linger has a visit without links expire. The lock is held.
func (v *visit) linger() {
	if len(v.guests) == 0 && v.expiry == nil {
		v.expiry = time.AfterFunc(keptFor, v.expire)
	}
}

// expire ends the sessions of a host that has not come back.
func (v *visit) expire() {
	all := v.visits
	all.mu.Lock()
	v.mu.Lock()
	gone := len(v.guests) == 0
	if gone && all.byInstance[v.id] == v {
		delete(all.byInstance, v.id)
		v.paid.visits--
	}
	sessions := v.sessions
	if gone {
		v.sessions = map[sessionKey]*visitor{}
	}
	v.mu.Unlock()
	all.mu.Unlock()
	if gone {
		for _, s := range sessions {
			_ = s.base.Close(context.Background())
		}
	}
}

// dismiss ends the links of an instance that is gone; its sessions are kept for a while, as it may be
// only its connection that is.
func (s *visits) dismiss(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.byInstance[id]; v != nil {
		v.dismiss(errors.New("the host is gone"), func(*guest) bool { return true })
	}
}

// dismiss ends those links that which reports.
func (v *visit) dismiss(why error, which func(*guest) bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, g := range v.guests {
		if which(g) {
			g.link.Fail(why)
		}
	}
}

// leave ends the links and sessions of a visit.
func (v *visit) leave() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.expiry != nil {
		v.expiry.Stop()
	}
	for _, g := range v.guests {
		_ = g.link.Close()
	}
	for _, s := range v.sessions {
		_ = s.base.Close(context.Background())
	}
	v.sessions = map[sessionKey]*visitor{}
}

// endSession ends the sessions here of one there.
func (v *visit) endSession(session string) {
	v.mu.Lock()
	var ended []*visitor
	for key, s := range v.sessions {
		if key.session == session {
			delete(v.sessions, key)
			ended = append(ended, s)
		}
	}
	v.mu.Unlock()
	for _, s := range ended {
		_ = s.base.Close(context.Background())
	}
}

// sessionOf returns the session in which a call runs.
//
// # Errors
//
// [tool.CodeResourceExhausted]; those of [Config.Accept].
func (g *guest) sessionOf(c *configured, peer string, call *tool.Call) (*host.Session, error) {
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
	by := host.Caller{Name: caller.account(), Account: caller.account(), Via: Owner, Client: "toolhost on " + g.called}
	if call.Caller != "" {
		by.Name += "/" + call.Caller
	}
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
		by = g.visits.host.Session(append([]host.SessionOption{host.WithCaller(by)}, options...)...).Caller()
		s = &visitor{base: g.visits.host.Session(host.WithCaller(by))}
		g.sessions[key] = s
	}
	s.session, s.epoch, s.used = s.base.With(options...), c.epoch, time.Now()
	return s.session, nil
}

// evict ends the session that was used longest ago, of those for which no plugin keeps state. The lock is
// held.
func (v *visit) evict() bool {
	var oldest sessionKey
	var found *visitor
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

// account names who answers for the caller.
func (c Caller) account() string {
	if c.Peer != "" {
		return c.Peer
	}
	return c.Host
}
