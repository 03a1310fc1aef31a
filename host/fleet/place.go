package fleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/wire"
)

// reachTime bounds how long a call waits for a host that can take it, such as while a NATS server is
// restarted.
const reachTime = 2 * time.Second

type placement struct{}

// On returns a context whose calls of mounted tools go to the host of this name, or fail.
func On(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, placement{}, name)
}

// Execute implements [tool.Provider].
//
// # Errors
//
// Those of the other host; [tool.CodeUnavailable] if no host can take the call, if the host is lost
// during it, or if the state that the session had there is.
func (f *Fleet) Execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	t := f.tool(call.Name)
	if t == nil {
		return tool.Result{}, &tool.Error{
			Code: tool.CodeNotFound, Tool: call.Name, Stage: tool.StageExecute, Unsent: true, Err: tool.ErrNotFound,
			Message: fmt.Sprintf("%v: no host of the fleet shares %s any more", tool.ErrNotFound, call.Name),
		}
	}
	rule := f.settings.Load().ruleOf(call.Name)
	idempotent := t.versions[0].def.Idempotent
	if p := chain.PassedFrom(ctx); p != nil && p.Trace.Definition != nil {
		idempotent = p.Trace.Definition.Idempotent // as the operator has it
	}
	r := &remoteCall{fleet: f, call: call, rule: rule, tool: t, idempotent: idempotent}
	r.on, _ = ctx.Value(placement{}).(string)
	if rule.Hedge > 0 && idempotent {
		return r.hedged(ctx)
	}
	return r.tried(ctx)
}

// tool returns what is mounted under a name.
func (f *Fleet) tool(name string) *mounted {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tools[name]
}

// remoteCall is a call of a mounted tool.
type remoteCall struct {
	fleet      *Fleet
	call       tool.Call
	rule       Rule
	tool       *mounted
	idempotent bool
	on         string // the host that it has to go to; empty: any

	// bonded is the host that the session has got by this call. Guarded by the fleet's lock.
	bonded *member
}

// tried runs the call, and once more on another host if that is harmless.
func (r *remoteCall) tried(ctx context.Context) (tool.Result, error) {
	res, first, err := r.once(ctx, nil)
	if err == nil || first == nil || ctx.Err() != nil || !r.repeatable(err) {
		return res, err
	}
	if show := tool.DeltasFrom(ctx); show != nil {
		show(tool.Delta{Reset: true})
	}
	but := first.member
	if tool.AsError(err).Unsent && errors.Is(err, wire.ErrDisconnected) {
		but = nil // the line was lost, and not the host
	}
	again, second, err2 := r.once(ctx, but)
	if second == nil { // no other host can take it
		return res, err
	}
	return again, err2
}

// errLost is the cause of the error of a call whose host was lost during it.
var errLost = errors.New("the host was lost during the call")

// repeatable reports whether another attempt is harmless, and not the same again.
func (r *remoteCall) repeatable(err error) bool {
	var e *tool.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case tool.CodeUnavailable, tool.CodeCrashed, tool.CodeResourceExhausted, tool.CodeNotFound:
		return e.Unsent || r.idempotent && errors.Is(err, errLost)
	default:
		return false
	}
}

// hedged runs the call, and on a second host too if the first has not answered in time. The first
// answer counts.
func (r *remoteCall) hedged(ctx context.Context) (tool.Result, error) {
	type end struct {
		res tool.Result
		at  *offer
		err error
	}
	// Of two answers only one can be shown as it comes, and which is not known.
	ctx, cancel := context.WithCancel(tool.WithDeltas(ctx, nil))
	defer cancel()
	ends := make(chan end, 2)
	started := make(chan *offer, 2)
	run := func(but *member) {
		res, at, err := r.onceAt(ctx, but, func(o *offer) { started <- o })
		ends <- end{res, at, err}
	}
	go run(nil)
	timer := time.NewTimer(r.rule.Hedge)
	defer timer.Stop()
	under, second := 1, false
	var first *offer
	for {
		select {
		case first = <-started:
		case <-timer.C:
			if first != nil && !second {
				second, under = true, under+1
				go run(first.member)
			}
		case e := <-ends:
			under--
			if e.err == nil || !r.repeatable(e.err) && e.at != nil {
				return e.res, e.err
			}
			if e.at != nil && !second {
				second, under = true, under+1
				go run(e.at.member)
			}
			if under == 0 {
				return e.res, e.err
			}
		}
	}
}

// once runs the call on one host, but not on a certain one. It returns on which; nil: on none.
func (r *remoteCall) once(ctx context.Context, but *member) (tool.Result, *offer, error) {
	return r.onceAt(ctx, but, nil)
}

func (r *remoteCall) onceAt(ctx context.Context, but *member, started func(*offer)) (tool.Result, *offer, error) {
	o, l, err := r.place(ctx, but)
	if err != nil {
		return tool.Result{}, nil, err
	}
	m := o.member
	defer m.release(1)
	if started != nil {
		started(o)
	}
	call := r.call
	call.Name = o.Name
	begin := time.Now()
	res, err := l.stream.Execute(ctx, call)
	host := m.host
	if err != nil {
		if errors.Is(err, wire.ErrDisconnected) {
			m.forget(l)
		}
		return tool.Result{}, o, r.failed(ctx, host, err)
	}
	res, a := answerOf(res)
	if a.Error != nil {
		e := ofHost(a.Error.clean(), host)
		e.Tool = r.call.Name
		if e.Unsent {
			r.unbond()
		}
		return tool.Result{}, o, e
	}
	m.measure(time.Since(begin))
	if a.Reset {
		if show := tool.DeltasFrom(ctx); show != nil {
			show(tool.Delta{Reset: true})
		}
	}
	return res, o, nil
}

// failed returns the error of a call that got no answer.
func (r *remoteCall) failed(ctx context.Context, host string, err error) error {
	e := *tool.AsError(err)
	e.Tool, e.Plugin = r.call.Name, Owner
	if errors.Is(err, wire.ErrDisconnected) && !e.Unsent && ctx.Err() == nil {
		e.Err = fmt.Errorf("%w: %w", errLost, err)
		e.Message = fmt.Sprintf("host %s was lost during the call of %s, and whether it has run is not known", host, r.call.Name)
		e.Hint = "find out what it did before calling it again"
		return &e
	}
	switch {
	case errors.Is(err, wire.ErrDisconnected):
		e.Message = fmt.Sprintf("host %s was lost before the call of %s was sent", host, r.call.Name)
	case ctx.Err() != nil:
		e.Message = fmt.Sprintf("gave up waiting for host %s to run %s: %v", host, r.call.Name, context.Cause(ctx))
	case errors.Is(err, wire.ErrProtocol):
		e.Message = fmt.Sprintf("host %s answered the call of %s with what is not an answer", host, r.call.Name)
		e.OperatorHint = "upgrade the host, or take it out of nats.peers"
	}
	return &e
}

// measure takes what a call took into the average.
func (m *member) measure(took time.Duration) {
	const weight = 8
	for {
		old := m.latency.Load()
		now := int64(took)
		if old != 0 {
			now = old + (now-old)/weight
		}
		if m.latency.CompareAndSwap(old, max(now, 1)) {
			return
		}
	}
}

// place chooses the host of a call and counts the call there. It waits a little for one that can be
// reached. The caller subtracts the call from the host's calls.
func (r *remoteCall) place(ctx context.Context, but *member) (*offer, *line, error) {
	f := r.fleet
	var limit <-chan time.Time
	var last error
	for {
		f.mu.Lock()
		changed := f.changed
		o, err := r.choose(but)
		var l *line
		if o != nil {
			o.member.calls.Add(1)
			l = o.member.line
		}
		f.mu.Unlock()
		switch {
		case l != nil:
			return o, l, nil
		case o != nil:
			if l, err = o.member.connect(ctx); err == nil {
				return o, l, nil
			}
			o.member.release(1)
			if ctx.Err() != nil {
				return nil, nil, r.gaveUp(ctx)
			}
			last = err
		case err != nil && tool.AsError(err).Code != tool.CodeUnavailable, but != nil, err != nil && r.final(err):
			return nil, nil, err
		default:
			last = err
		}
		if limit == nil {
			timer := time.NewTimer(reachTime)
			defer timer.Stop()
			limit = timer.C
		}
		select {
		case <-changed:
		case <-limit:
			return nil, nil, last
		case <-ctx.Done():
			return nil, nil, r.gaveUp(ctx)
		}
	}
}

func (r *remoteCall) gaveUp(ctx context.Context) error {
	return &tool.Error{
		Code: tool.CodeOf(ctx.Err()), Tool: r.call.Name, Stage: tool.StageExecute, Unsent: true, Err: ctx.Err(),
		Message: fmt.Sprintf("gave up waiting for a host that can run %s: %v", r.call.Name, context.Cause(ctx)),
	}
}

var (
	errStateLost = errors.New("the state is lost")
	errNoHost    = errors.New("no host takes calls")
)

// final reports whether waiting does not help.
func (*remoteCall) final(err error) bool { return errors.Is(err, errStateLost) }

// bondKey names the state that a session has in a plugin of the fleet.
type bondKey struct{ session, plugin string }

// stateKeptFor is for how long without a line the state of a session counts as kept: half of what
// its host keeps it for, as that may have missed this host earlier.
const stateKeptFor = keptFor / 2

// choose returns one of the hosts that can take the call, the better one of two. The fleet's lock is
// held.
func (r *remoteCall) choose(but *member) (*offer, error) {
	f := r.fleet
	if t := f.tools[r.call.Name]; t != nil {
		r.tool = t
	}
	v := r.tool.versions[0]
	key := bondKey{r.call.Session, v.offers[0].Plugin}
	if bound := f.bonds[key]; bound != nil && v.offers[0].Keeps && r.on == "" {
		if f.members[bound.id] != bound || !bound.lost.IsZero() && time.Since(bound.lost) > stateKeptFor {
			delete(f.bonds, key)
			e := tool.Errorf(tool.CodeUnavailable, "the state that the session had in plugin %s is lost with host %s", key.plugin, bound.host)
			e.Tool, e.Plugin, e.Stage, e.Err = r.call.Name, Owner, tool.StageExecute, errStateLost
			e.Hint = "begin again what was begun in this session: the next call starts without state"
			return nil, e
		}
		for _, version := range r.tool.versions {
			for _, o := range version.offers {
				if o.member == bound && bound != but {
					return o, nil
				}
			}
		}
		return nil, r.noHost(v)
	}
	fit := r.candidates(v, but)
	if len(fit) == 0 {
		return nil, r.noHost(v)
	}
	o := fit[0]
	if len(fit) > 1 {
		i := rand.IntN(len(fit))     //nolint:gosec // not a secret
		j := rand.IntN(len(fit) - 1) //nolint:gosec // not a secret
		if j >= i {
			j++
		}
		if o = fit[i]; fit[j].member.cost() < o.member.cost() {
			o = fit[j]
		}
	}
	if r.call.Session != "" {
		f.visit(r.call.Session, o.member)
		if o.Keeps && r.on == "" {
			f.bonds[key], r.bonded = o.member, o.member
		}
	}
	return o, nil
}

// unbond lets the session go elsewhere, as its first call was refused.
func (r *remoteCall) unbond() {
	f := r.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, m := range f.bonds {
		if r.bonded != nil && key.session == r.call.Session && m == r.bonded {
			delete(f.bonds, key)
		}
	}
	r.bonded = nil
}

// visit remembers that a session has called a host, which is told of its end. The lock is held.
func (f *Fleet) visit(session string, m *member) {
	visited := f.visited[session]
	if visited == nil {
		visited = map[*member]bool{}
		f.visited[session] = visited
	}
	visited[m] = true
}

// candidates returns the hosts that can take the call: if there are any, those that answer, have a
// line, and are not to be avoided. The fleet's lock is held.
func (r *remoteCall) candidates(v *version, but *member) []*offer {
	offers := v.offers
	var named []*member
	if r.on != "" {
		offers = nil
		if named = r.fleet.named(r.on); severalOwners(named) {
			return nil
		}
		for _, version := range r.tool.versions {
			offers = append(offers, version.offers...)
		}
	}
	fit := make([]*offer, 0, 8)
	for _, o := range offers {
		m := o.member
		switch {
		case m == but || !m.takes(), r.on != "" && !slices.Contains(named, m), len(r.rule.Labels) > 0 && !has(m.said.Labels, r.rule.Labels):
		default:
			fit = append(fit, o)
		}
	}
	for _, better := range []func(*offer) bool{
		func(o *offer) bool { return !r.avoids(o.member) },
		func(o *offer) bool { return !o.member.late },
		func(o *offer) bool { return o.member.line != nil },
		func(o *offer) bool {
			return o.member.said.Load.Slots == 0 || o.member.load() < o.member.said.Load.Slots
		},
	} {
		if len(fit) > 1 && slices.ContainsFunc(fit, better) {
			fit = slices.DeleteFunc(fit, func(o *offer) bool { return !better(o) })
		}
	}
	return fit
}

func (r *remoteCall) avoids(m *member) bool {
	for k, v := range r.rule.Avoid {
		if now, there := m.said.Labels[k]; there && now == v {
			return true
		}
	}
	return false
}

// named returns the hosts that a name is that of. What this host calls them comes before what they
// call themselves, so that none passes for another. The lock is held.
func (f *Fleet) named(name string) []*member {
	var ours, theirs []*member
	for _, m := range f.members {
		switch name {
		case m.id, m.peer:
			ours = append(ours, m)
		case m.host:
			theirs = append(theirs, m)
		}
	}
	if len(ours) > 0 {
		return ours
	}
	return theirs
}

// severalOwners reports whether hosts have different keys.
func severalOwners(all []*member) bool {
	return slices.ContainsFunc(all, func(m *member) bool { return m.key != all[0].key })
}

// load is how many calls run and wait at the host, as far as this one knows. The fleet's lock is held.
func (m *member) load() int {
	return max(m.said.Load.Running+m.said.Load.Waiting, int(m.calls.Load()))
}

// cost is what a call at the host is expected to take, in comparison with others. The fleet's lock
// is held.
func (m *member) cost() float64 {
	const least = 50 * time.Microsecond // below, differences are chance
	return float64(m.load()+1) / float64(max(m.said.Load.Slots, 1)) * float64(max(m.latency.Load(), int64(least)))
}

// noHost says why no host can take the call. The fleet's lock is held.
func (r *remoteCall) noHost(v *version) error {
	why := "each host that shares it drains, and takes no new calls"
	switch {
	case r.on != "" && severalOwners(r.fleet.named(r.on)):
		why = "hosts with different keys are called " + r.on + ": use the instance, which toolhost fleet --json shows"
	case r.on != "":
		why = "host " + r.on + " does not share it, or takes no calls"
	case v.reason != "":
		why = v.reason
	case !r.fleet.nc.IsConnected():
		why = "the connection to the NATS server is lost"
	}
	return &tool.Error{
		Code: tool.CodeUnavailable, Tool: r.call.Name, Plugin: Owner, Stage: tool.StageExecute, Unsent: true, Err: errNoHost,
		Message: "no host of the fleet can run " + r.call.Name + ": " + why,
		Hint:    "try again later", OperatorHint: "toolhost fleet shows the hosts, and toolhost fleet tools the tools",
	}
}

// EndSession implements [tool.SessionEnder]: the hosts that the session has called are told.
func (f *Fleet) EndSession(session string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for m := range f.visited[session] {
		if m.line != nil {
			m.line.stream.EndSession(session)
		}
	}
	delete(f.visited, session)
	for key := range f.bonds {
		if key.session == session {
			delete(f.bonds, key)
		}
	}
}
