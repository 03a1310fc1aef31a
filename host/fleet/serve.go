package fleet

import (
	"context"
	"encoding/json"
	"errors"
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

// guest serves one link of another host. It is the provider on it.
type guest struct {
	*visit
	link   *link.Link
	called string // what the host calls itself
	// reconnects is how often the connection had been made again when the link was accepted.
	reconnects uint64
}

// opened takes a request for a link, which anybody may have sent.
func (f *Fleet) opened(data []byte, respond func([]byte) error) {
	if o, a := f.checkOpening(data, respond); o != nil {
		f.hear(o.About)
		f.accept(o, a, respond)
	}
}

func refuse(respond func([]byte) error, code tool.Code, format string, args ...any) {
	_ = respond(link.Refuse(tool.Errorf(code, format, args...)))
}

// checkOpening reads a request for a link, and what its host says of itself; nil: it is not one of a host
// that is known.
func (f *Fleet) checkOpening(data []byte, respond func([]byte) error) (*link.Opening, *announcement) {
	o, err := link.ParseOpening(data)
	if err != nil {
		return nil, nil
	}
	a, err := parseAnnouncement(o.About)
	if err != nil {
		return nil, nil
	}
	if _, _, known := f.settings.Load().peerOf(a.Key); !known {
		f.directory.stranger(a, o.About, f.log)
		refuse(respond, tool.CodePermissionDenied, "host %s does not know the key %s: add it under nats.peers there", f.settings.Load().Name, a.Key)
		return nil, nil
	}
	if !a.signed(o.About) {
		return nil, nil
	}
	if why := a.foreign(); why != "" {
		f.hear(o.About)
		refuse(respond, tool.CodeUnsupported, "host %s takes no calls of that version: %s", f.settings.Load().Name, why)
		return nil, nil
	}
	return o, a
}

// accept makes a link that a known host has asked for, and serves it.
func (f *Fleet) accept(o *link.Opening, a *announcement, respond func([]byte) error) {
	v := f.visits.of(f, a)
	if v == nil {
		refuse(respond, tool.CodeResourceExhausted, "host %s has too many links", f.settings.Load().Name)
		return
	}
	reconnects := f.nc.Stats().Reconnects
	k, err := link.Accept(f.nc, f.self, a.Instance, o, respond)
	if err != nil {
		if tool.CodeOf(err) != tool.CodeInvalidArguments { // a stranger's
			f.log.Warn("a link could not be accepted", "host", a.Name, "error", err)
		}
		v.mu.Lock()
		v.linger()
		v.mu.Unlock()
		return
	}
	g := &guest{v, k, a.Name, reconnects}
	if !v.admit(g) {
		_ = k.Close()
		return
	}
	f.background(g.serve)
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
	g.mu.Lock()
	g.drop(g)
	g.linger()
	g.mu.Unlock()
	g.fleet.bell.ring()
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
			if err = g.mayDrain(p); err == nil {
				g.fleet.log.Info("another host has this one drain, or not", "host", g.called, "on", in.On)
				g.fleet.setDraining(in.On)
			}
			out = struct{}{}
		}
	case drainedOperation:
		if err = g.mayDrain(p); err == nil {
			out = g.fleet.drainState(ctx)
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

// drainState is the answer to drainedOperation.
type drainState struct {
	Draining bool `json:"draining"`
	Calls    int  `json:"calls"` // of other hosts, in progress
}

func (*guest) mayDrain(p Peer) error {
	if p.Admin {
		return nil
	}
	e := tool.Errorf(tool.CodePermissionDenied, "it does not let this host drain it")
	e.OperatorHint = "set admin: true for this host's key under nats.peers there"
	return e
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
		f.bell.ring()
	}
}
