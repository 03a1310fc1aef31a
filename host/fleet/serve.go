package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet/internal/link"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/internal/textstream"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const (
	// maxLinksOfHost bounds the links that one instance of another host may have to this one. It needs
	// one, and a second while it has not noticed that the first has ended.
	maxLinksOfHost = 4
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

// servedLink serves one link of another host. It is the provider on it.
type servedLink struct {
	*callingHost
	link   *link.Link
	called string // what the host calls itself
	// reconnects is how often the connection had been made again when the link was accepted.
	reconnects uint64
}

// opened takes a request for a link, which anybody may have sent.
func (s *inbound) opened(data []byte, respond func([]byte) error) {
	if o, a := s.checkOpening(data, respond); o != nil {
		s.directory.hear(o.About)
		s.accept(o, a, respond)
	}
}

func (s *inbound) refuseLink(o *link.Opening, a *announcement, respond func([]byte) error, err error) {
	if answer := link.Refuse(s.self, a.Instance, o, err); answer != nil {
		_ = respond(answer)
	}
}

// unknown is the error of a host with a key that is not known.
func (s *inbound) unknown(key string) *tool.Error {
	return tool.Errorf(tool.CodePermissionDenied, "host %s does not know the key %s: add it under nats.peers there", s.settings.Load().Name, key)
}

// checkOpening reads a request for a link, and what its host says of itself; nil: it is not one of a host
// that is known.
func (s *inbound) checkOpening(data []byte, respond func([]byte) error) (*link.Opening, *announcement) {
	o, err := link.ParseOpening(data)
	if err != nil {
		return nil, nil
	}
	a, err := parseAnnouncement(o.About)
	if err != nil {
		return nil, nil
	}
	if _, known := s.settings.Load().known[a.Key]; !known {
		s.directory.stranger(a, o.About)
		s.refuseLink(o, a, respond, s.unknown(a.Key))
		return nil, nil
	}
	if !a.signed(o.About) {
		return nil, nil
	}
	if why := a.foreign(); why != "" {
		s.directory.hear(o.About)
		s.refuseLink(o, a, respond, tool.Errorf(tool.CodeUnsupported, "host %s takes no calls of that version: %s", s.settings.Load().Name, why))
		return nil, nil
	}
	return o, a
}

// accept makes a link that a known host has asked for, and serves it.
func (s *inbound) accept(o *link.Opening, a *announcement, respond func([]byte) error) {
	v := s.of(a)
	if v == nil {
		s.refuseLink(o, a, respond, tool.Errorf(tool.CodeResourceExhausted, "host %s has too many links", s.settings.Load().Name))
		return
	}
	reconnects := s.nc.Stats().Reconnects
	k, err := link.Accept(s.nc, s.self, a.Instance, o, respond)
	if err != nil {
		if tool.CodeOf(err) != tool.CodeInvalidArguments { // a stranger's
			s.log.Warn("a link could not be accepted", "host", a.Name, "error", err)
		}
		v.mu.Lock()
		v.linger()
		v.mu.Unlock()
		return
	}
	g := &servedLink{v, k, a.Name, reconnects}
	v.admit(g)
	s.background(g.serve)
}

// serve answers the calls on the link until it ends.
func (g *servedLink) serve() {
	unproven := time.AfterFunc(provenIn, func() {
		select {
		case <-g.link.Proven():
		default:
			g.link.Fail(errors.New("whoever opened it has not proven that it is the host"))
		}
	})
	defer unproven.Stop()
	server := wire.Server{Provider: g, Waits: true, OnSessionEnded: func(_ context.Context, session string) { g.endSession(session) }}
	err := server.Serve(g.inbound.life, g.link)
	if err != nil && g.inbound.life.Err() == nil {
		g.inbound.log.Debug("a link has ended", "host", g.called, "error", err)
	}
	d := g.inbound.directory
	d.mu.Lock() // nor is it found to be gone meanwhile
	_, there := d.members[g.id]
	g.mu.Lock()
	g.drop(g)
	g.rests = there && errors.Is(g.link.Err(), io.EOF)
	g.linger()
	g.mu.Unlock()
	d.mu.Unlock()
	g.inbound.bell.ring()
}

// List implements [tool.Provider]. What is shared is read by indexOperation.
func (*servedLink) List(context.Context) ([]tool.Definition, error) { return nil, nil }

// Close implements [tool.Provider].
func (*servedLink) Close(context.Context) error { return nil }

// Execute implements [tool.Provider]: it runs a call of the other host. An error is a result with an
// answer.
func (g *servedLink) Execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	c := g.inbound.settings.Load()
	p, known := c.known[g.key]
	if !known {
		return failed(g.inbound.unknown(g.key).NeverSent()), nil
	}
	var out any
	var err error
	switch call.Name {
	case indexOperation:
		out = index{g.inbound.revision(), g.inbound.catalogue.Load().index(p.Share)}
	case definitionsOperation:
		out, err = operation(call, nil, func(in definitionsRequest) any {
			return g.inbound.catalogue.Load().definitions(p.Share, in)
		})
	case drainOperation:
		out, err = operation(call, mayDrain(p), func(in drainRequest) any {
			g.inbound.log.Info("another host has this one drain, or not", "host", g.called, "on", in.On)
			g.inbound.drain(in.On)
			return struct{}{}
		})
	case drainedOperation:
		out, err = operation(call, mayDrain(p), func(in drainedRequest) any { return g.inbound.drainState(ctx, in.Within) })
	case viewOperation:
		out, err = operation(call, mayDrain(p), func(struct{}) any { return g.inbound.view() })
	default:
		return g.run(ctx, c, p, call), nil
	}
	var text []byte
	if err == nil {
		text, err = json.Marshal(out)
	}
	if err != nil {
		return failed(err), nil
	}
	return tool.Result{Structured: text}, nil
}

// operation runs one of the fleet's own operations, unless it is refused.
func operation[In any](call tool.Call, refused error, run func(In) any) (any, error) {
	var in In
	if err := cmp.Or(refused, json.Unmarshal(call.Arguments, &in)); err != nil {
		return nil, err
	}
	return run(in), nil
}

// run runs a call of a tool.
func (g *servedLink) run(ctx context.Context, c *configured, p namedPeer, call tool.Call) tool.Result {
	t, there := g.inbound.catalogue.Load().tools[call.Name]
	if !there || !durable.Matches(p.Share, call.Name) {
		return failed(tool.Errorf(tool.CodeNotFound, "tool not found: %s is not shared with this host", call.Name).
			At(callstage.Resolve).NeverSent().Because(tool.ErrNotFound))
	}
	limit := c.maxCalls()
	if n := g.paid.calls.Add(1); int(n) > limit {
		g.paid.calls.Add(-1)
		e := tool.Errorf(tool.CodeResourceExhausted, "%d calls of this host are in progress there, as many as may be", limit)
		e.RetryAfter = tool.Duration(time.Second)
		by := Caller{Peer: p.name, Host: g.called}.Account()
		g.inbound.host.Refuse(host.Caller{Name: by, Account: by, Via: Owner}, call.Name, e)
		return failed(e.At(callstage.Limit).NeverSent().Try("try again later").Fix("raise nats.max_calls there"))
	}
	defer g.inbound.serve()()
	defer g.paid.calls.Add(-1)
	session, err := g.sessionOf(c, p.name, &call)
	if err != nil {
		e := *tool.AsError(err)
		e.Unsent = true
		return failed(&e)
	}
	if g.inbound.draining.Load() && (!t.Keeps || !slices.Contains(session.Plugins(), t.Plugin)) {
		return failed(tool.Errorf(tool.CodeUnavailable, "it drains and takes no new calls").
			At(callstage.Start).NeverSent().Try("try again later"))
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
	out, res, err := session.CallWith(ctx, call, o)
	a := answer{Phases: &out.Metadata.Phases}
	if err != nil {
		return a.failed(g.advised(err, Caller{Peer: p.name, Host: g.called, Name: call.Caller}))
	}
	a.Reset = reset
	return a.result(withoutAnswer(res))
}

// advised returns the error of a call that was not allowed, with what the operator of this host can do: the chain's
// advice is for sessions of this host's own.
func (*servedLink) advised(err error, by Caller) error {
	e := *tool.AsError(err)
	switch e.Stage {
	case callstage.Authorize:
		e.OperatorHint = remedy.GrantCaller.For(by.String())
	case callstage.Approve:
		if e.Code != tool.CodeApprovalRequired {
			return err
		}
		e.OperatorHint = remedy.AskCaller.For(by.String())
	default:
		return err
	}
	return &e
}

func (c *Config) maxCalls() int { return cmp.Or(max(c.MaxCalls, 0), defaultMaxCalls) }
