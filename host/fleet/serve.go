package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet/internal/link"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/textstream"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/wire"
)

const (
	// maxGuests bounds the links that one instance of another host may have to this one. It needs
	// one, and a second while it has not noticed that the first has ended.
	maxGuests = 4
	// maxLinks bounds those of all.
	maxLinks = 16384
	// provenIn is how soon whoever opened a link has to prove that it is the host it says.
	provenIn = 10 * time.Second
	// maxSessions bounds the sessions of one instance.
	maxSessions = 4096
	// keptFor is how long the sessions of a host are kept without a link to it.
	keptFor = time.Minute
	// defaultMaxCalls is Config.MaxCalls's.
	defaultMaxCalls = 1024
)

// account is what this host keeps of a caller's host, by its key.
type account struct{ calls atomic.Int32 }

// visit is what this host keeps of one start of another host that calls here. It outlives links.
type visit struct {
	fleet *Fleet
	id    string
	key   string
	paid  *account

	mu       sync.Mutex
	guests   []*guest
	sessions map[sessionKey]*visitor
	expiry   *time.Timer
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

// guest serves one link of another host. It is the provider on it.
type guest struct {
	*visit
	link   *link.Link
	called string // what the host calls itself
}

// opened takes a request for a link, which anybody may have sent.
func (f *Fleet) opened(data []byte, respond func([]byte) error) {
	refuse := func(code tool.Code, format string, args ...any) {
		_ = respond(link.Refuse(tool.Errorf(code, format, args...)))
	}
	o, err := link.ParseOpening(data)
	if err != nil {
		f.strange.Add(1)
		return
	}
	a, err := parseAnnouncement(o.About)
	if err != nil || a.foreign() != "" {
		f.strange.Add(1)
		return
	}
	if _, _, known := f.settings.Load().peerOf(a.Key); !known {
		f.stranger(a, o.About)
		refuse(tool.CodePermissionDenied, "host %s does not know the key %s", f.settings.Load().Name, a.Key)
		return
	}
	if !a.signed(o.About) {
		f.strange.Add(1)
		return
	}
	f.hear(o.About)
	v := f.visitOf(a)
	if v == nil {
		refuse(tool.CodeResourceExhausted, "host %s has too many links", f.settings.Load().Name)
		return
	}
	k, err := link.Accept(f.nc, f.self, a.Instance, o, respond)
	if err != nil {
		f.log.Warn("a link could not be accepted", "host", a.Name, "error", err)
		return
	}
	g := &guest{v, k, a.Name}
	if !v.admit(g) {
		_ = k.Close()
		return
	}
	f.background(g.serve)
}

// visitOf returns the visit of an instance; nil: there are too many.
func (f *Fleet) visitOf(a *announcement) *visit {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := a.id()
	v := f.visits[id]
	if v == nil {
		if len(f.visits) >= maxLinks || f.closed {
			return nil
		}
		paid := f.accounts[a.Key]
		if paid == nil {
			paid = new(account)
			f.accounts[a.Key] = paid
		}
		v = &visit{fleet: f, id: id, key: a.Key, paid: paid, sessions: map[sessionKey]*visitor{}}
		f.visits[id] = v
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
	for i, other := range v.guests {
		if other == g {
			v.guests = append(v.guests[:i:i], v.guests[i+1:]...)
			return
		}
	}
}

// serve answers the calls on the link until it ends.
func (g *guest) serve() {
	unproven := time.AfterFunc(provenIn, func() {
		select {
		case <-g.link.Proven():
		default:
			g.link.Fail(errors.New("whoever opened it has not proven that it is the host"))
		}
	})
	defer unproven.Stop()
	server := wire.Server{Provider: g, OnSessionEnded: func(_ context.Context, session string) { g.endSession(session) }}
	err := server.Serve(g.fleet.life, g.link)
	if err != nil && g.fleet.life.Err() == nil {
		g.fleet.log.Debug("a link has ended", "host", g.called, "error", err)
	}
	f := g.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	f.signal()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.drop(g)
	if len(g.guests) == 0 && g.expiry == nil {
		g.expiry = time.AfterFunc(keptFor, g.expire)
	}
}

// hasGuests reports whether other hosts have links to this one.
func (f *Fleet) hasGuests() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, v := range f.visits {
		v.mu.Lock()
		n := len(v.guests)
		v.mu.Unlock()
		if n > 0 {
			return true
		}
	}
	return false
}

// expire ends the sessions of a host that has not come back.
func (v *visit) expire() {
	v.fleet.mu.Lock()
	v.mu.Lock()
	gone := len(v.guests) == 0
	if gone && v.fleet.visits[v.id] == v {
		delete(v.fleet.visits, v.id)
	}
	sessions := v.sessions
	if gone {
		v.sessions = map[sessionKey]*visitor{}
	}
	v.mu.Unlock()
	v.fleet.mu.Unlock()
	if gone {
		for _, s := range sessions {
			_ = s.base.Close(context.Background())
		}
	}
}

// dismiss ends the links of an instance that is gone; its sessions are kept for a while, as it may be
// only its connection that is. The fleet's lock is held.
func (f *Fleet) dismiss(id string) {
	v := f.visits[id]
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, g := range v.guests {
		g.link.Fail(errors.New("the host is gone"))
	}
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
		by = g.fleet.host.Session(append([]host.SessionOption{host.WithCaller(by)}, options...)...).Caller()
		s = &visitor{base: g.fleet.host.Session(host.WithCaller(by))}
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

// List implements [tool.Provider]. What is shared is read by indexOperation.
func (*guest) List(context.Context) ([]tool.Definition, error) { return nil, nil }

// Close implements [tool.Provider].
func (*guest) Close(context.Context) error { return nil }

// Execute implements [tool.Provider]: it runs a call of the other host. An error is a result with an
// answer.
func (g *guest) Execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	c := g.fleet.settings.Load()
	peer, p, known := c.peerOf(g.key)
	if !known {
		return failed(unsent(tool.CodePermissionDenied, "the host is not known here any more")), nil
	}
	var out any
	var err error
	switch call.Name {
	case indexOperation:
		out = index{g.fleet.revision(), g.fleet.catalogue.Load().index(p.shares(&c.Config))}
	case definitionsOperation:
		var in definitionsRequest
		if err = json.Unmarshal(call.Arguments, &in); err == nil {
			out = g.fleet.catalogue.Load().definitions(p.shares(&c.Config), in)
		}
	case drainOperation:
		var in drainRequest
		if err = json.Unmarshal(call.Arguments, &in); err == nil {
			out, err = struct{}{}, g.drain(p, in)
		}
	default:
		return g.run(ctx, c, peer, p, call), nil
	}
	if err != nil {
		return failed(err), nil
	}
	text, err := json.Marshal(out)
	if err != nil {
		return failed(err), nil
	}
	return tool.Result{Structured: text}, nil
}

type drainRequest struct {
	On bool `json:"on"`
}

func (g *guest) drain(p Peer, in drainRequest) error {
	if !p.Admin {
		e := tool.Errorf(tool.CodePermissionDenied, "it does not let this host drain it")
		e.OperatorHint = "set admin: true for this host's key under nats.peers there"
		return e
	}
	g.fleet.log.Info("another host has this one drain, or not", "host", g.called, "on", in.On)
	g.fleet.setDraining(in.On)
	return nil
}

func unsent(code tool.Code, format string, args ...any) *tool.Error {
	e := tool.Errorf(code, format, args...)
	e.Unsent = true
	return e
}

// run runs a call of a tool.
func (g *guest) run(ctx context.Context, c *configured, peer string, p Peer, call tool.Call) tool.Result {
	f := g.fleet
	t, there := f.catalogue.Load().tools[call.Name]
	if !there || !matches(p.shares(&c.Config), call.Name) {
		e := unsent(tool.CodeNotFound, "tool not found: %s is not shared with this host", call.Name)
		e.Stage, e.Err = tool.StageResolve, tool.ErrNotFound
		return failed(e)
	}
	limit := c.maxCalls()
	if n := g.paid.calls.Add(1); int(n) > limit {
		g.paid.calls.Add(-1)
		e := unsent(tool.CodeResourceExhausted, "%d calls of this host are in progress there, as many as may be", limit)
		e.Stage, e.Hint, e.RetryAfter = tool.StageLimit, "try again later", tool.Duration(time.Second)
		e.OperatorHint = "raise nats.max_calls there"
		return failed(e)
	}
	f.serving.Add(1)
	defer func() {
		g.paid.calls.Add(-1)
		f.served()
	}()
	session, err := g.sessionOf(c, peer, &call)
	if err != nil {
		e := *tool.AsError(err)
		e.Unsent = true
		return failed(&e)
	}
	if f.draining.Load() && (!t.Keeps || !holds(session, t.Plugin)) {
		e := unsent(tool.CodeUnavailable, "it drains and takes no new calls")
		e.Stage, e.Hint = tool.StageStart, "try again later"
		return failed(e)
	}
	o := host.CallOptions{IdempotencyKey: call.IdempotencyKey}
	reset := false
	if slot, ok := ctx.Value(callctx.Stream{}).(*textstream.Slot); ok && slot.Sink != nil {
		defer slot.Take() // the text is in the result, too
		text := slot.Writer()
		o.Deltas = func(d tool.Delta) {
			if reset = reset || d.Reset; !reset {
				_ = text.WriteString(d.Text)
			}
		}
	}
	call.IdempotencyKey = ""
	_, res, err := session.CallWith(ctx, call, o)
	if err != nil {
		return failed(err)
	}
	res = withoutAnswer(res)
	if reset {
		res = answer{Reset: true}.result(res)
	}
	return res
}

// holds reports whether a plugin keeps state for the session.
func holds(s *host.Session, plugin string) bool {
	for _, name := range s.Plugins() {
		if name == plugin {
			return true
		}
	}
	return false
}

func (c *Config) maxCalls() int {
	if c.MaxCalls > 0 {
		return c.MaxCalls
	}
	return defaultMaxCalls
}

// served counts a call of another host that has ended.
func (f *Fleet) served() {
	if f.serving.Add(-1) == 0 && f.draining.Load() {
		f.mu.Lock()
		f.signal()
		f.mu.Unlock()
	}
}
