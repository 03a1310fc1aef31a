package host

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/host/internal/listed"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Session is what a caller works in: an ID that each of its calls carries, and by which plugins
// keep state, its grants, and its approver. It starts with no grants. It is a [tool.Provider] of
// the host's tools, and safe for concurrent use.
type Session struct {
	handle
	host     *Host
	id       string
	caller   Caller
	as       *chain.Caller // what the steps of its calls see
	approver policy.Approver
	asker    tool.Asker                 // nil: that of a call's context
	limit    int                        // characters of a result
	sees     func(tool.Definition) bool // nil: every tool
	searches bool                       // it has tools.search, tools.call and tools.read in place of the list
	holds    *holds
	replays  *replays
	notices  *subscriptions

	parent *Session                                 // what it is a view of; nil: of nothing
	grants atomic.Pointer[map[tool.Capability]bool] // what was granted or revoked here; never changed, replaced
	mu     sync.Mutex                               // writers of grants
}

// handle has what the session lists, for this module.
type handle = listed.Handle

var _ tool.Provider = (*Session)(nil)

// Session makes a session. Without options, its caller holds no capability, and calls that need approval are refused.
func (h *Host) Session(opts ...SessionOption) *Session {
	s := &Session{host: h, id: rand.Text(), holds: new(holds), replays: new(replays), notices: &subscriptions{registry: &h.registry}}
	s.apply(opts)
	s.settle()
	return s
}

// With returns a view of the session in which options hold too, such as the grants and the
// approver of a single call. What the session is granted later, or loses, holds in the view, unless the view itself
// was granted it or lost it. It has the session's ID, and its caller's name, Account, Via and
// Client, whatever the options say, so that plugins have the same state for it; [WithCaller] sets the
// bounds of that caller. It ends with the session, and closing it ends the session.
func (s *Session) With(opts ...SessionOption) *Session {
	view := &Session{
		host: s.host, caller: s.caller, approver: s.approver, asker: s.asker, limit: s.limit, sees: s.sees, searches: s.searches,
		holds: s.holds, replays: s.replays, notices: s.notices, parent: s,
	}
	view.apply(opts)
	view.id, view.caller.Name, view.caller.Account = s.id, s.caller.Name, s.caller.Account
	view.caller.Via, view.caller.Client = s.caller.Via, s.caller.Client
	view.settle()
	return view
}

// apply sets options; nil options set nothing.
func (s *Session) apply(opts []SessionOption) {
	for _, opt := range opts {
		if opt != nil {
			opt(s)
		}
	}
}

// Caller returns who makes the session's calls.
func (s *Session) Caller() Caller { return s.caller }

// Plugins returns the names, sorted, of the plugins and attached providers that keep state for the
// session.
func (s *Session) Plugins() []string { return s.holds.plugins() }

// ID identifies the session.
func (s *Session) ID() string { return s.id }

// ResultLimit returns how many characters of text a result may have; 0: any number.
func (s *Session) ResultLimit() int { return s.limit }

// Holds reports whether the session was granted c.
func (s *Session) Holds(c tool.Capability) bool {
	if own := s.grants.Load(); own != nil {
		if held, set := (*own)[c]; set {
			return held
		}
	}
	return s.parent != nil && s.parent.Holds(c)
}

// Grant gives the session capabilities.
func (s *Session) Grant(caps ...tool.Capability) { s.setGrants(true, caps) }

// Revoke removes capabilities. Calls that were authorized before go on.
func (s *Session) Revoke(caps ...tool.Capability) { s.setGrants(false, caps) }

func (s *Session) setGrants(held bool, caps []tool.Capability) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := map[tool.Capability]bool{}
	if old := s.grants.Load(); old != nil {
		maps.Copy(next, *old)
	}
	for _, c := range caps {
		next[c] = held
	}
	s.grants.Store(&next)
}

// List implements [tool.Provider].
func (s *Session) List(ctx context.Context) ([]tool.Definition, error) {
	if s.searches {
		var out []tool.Definition
		for _, t := range s.host.discovery().tools(s, Filter{}) {
			out = append(out, t.Definition)
		}
		return out, nil
	}
	all, err := s.host.List(ctx)
	return slices.DeleteFunc(all, func(d tool.Definition) bool { return !s.Sees(&d) }), err
}

// Execute runs one call with what the session was granted.
//
// # Errors
//
// Those of [Host.Execute].
func (s *Session) Execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	call = s.meant(call)
	return s.execute(ctx, s.traceOf(ctx, call), call)
}

func (s *Session) execute(ctx context.Context, t *chain.Trace, call tool.Call) (tool.Result, error) {
	if call.ID == "" {
		call.ID = s.host.nextID()
	}
	if s.holds.closed.Load() { // plugins would keep state for it that nothing ends
		return tool.Result{}, tool.Errorf(tool.CodeUnavailable, "the session is closed, so tool %s cannot run", shorten(call.Name)).
			Of(call.Name, "").At(callstage.Resolve).NeverSent().Fix("make a new session")
	}
	call.Session, call.Caller, t.Call = t.Caller.Session, t.Caller.Name, call.ID
	if s.asker != nil && callctx.Get[tool.Asker](ctx, callctx.Ask{}) == nil {
		ctx = tool.WithAsker(ctx, s.asker)
	}
	ctx = chain.WithTrace(ctx, t)
	t.Join(s.host.events.sampled())
	return s.host.chain(ctx, call)
}

// Close implements [tool.Provider]: it ends the session, so that plugins need not keep its
// state any longer, and are told so when its calls have ended. Further calls are refused. The host stays
// open.
func (s *Session) Close(context.Context) error {
	s.holds.releaseAll(s.id)
	s.notices.end()
	return nil
}

// Sees reports whether the session has a tool; see [WithVisible].
func (s *Session) Sees(d *tool.Definition) (sees bool) {
	if s.sees == nil {
		return true
	}
	defer func() {
		if v := recover(); v != nil {
			sees = false
			s.host.logPanic(chain.Recovered("the choice of visible tools", v))
		}
	}()
	return s.sees(*d)
}

// Tools returns the session's tools that pass the filter, sorted by name, without the host's own,
// see [Tool.Own]. The caller owns them.
func (s *Session) Tools(f Filter) []Tool {
	if s.searches {
		return s.host.discovery().tools(s, f)
	}
	return slices.DeleteFunc(s.host.Tools(f), func(t Tool) bool { return t.Own || !s.Sees(&t.Definition) })
}

// lists returns what the session lists, see [listed.List].
func (s *Session) lists() listed.List {
	now := s.host.registry.read()
	out := listed.List{At: now, All: func(yield func(listed.Tool) bool) {
		for _, e := range now.listed() {
			if !yield(listed.Tool{Def: e.def, Alias: e.alias, Owner: e.owner, Claimed: e.source.Name, Own: e.isOwn()}) {
				return
			}
		}
	}}
	if s.searches {
		for _, t := range s.Tools(Filter{}) {
			out.Own = append(out.Own, t.Definition)
		}
	}
	return out
}
