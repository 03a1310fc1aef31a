package fleet

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// reachTime bounds how long a call waits for a host that can take it, such as while a NATS server is
// restarted.
const reachTime = 2 * time.Second

type placement struct{}

// On returns a context whose calls of mounted tools go to the host of this name, or fail.
func On(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, placement{}, name)
}

// place chooses the host of a call and counts the call there. A call that finds them full waits for its turn, and a little for
// one that can be reached. The caller ends the attempt.
func (r *remoteCall) place(ctx context.Context) (*attempt, error) {
	s := r.routes
	var limit <-chan time.Time
	var last error
	refused := len(r.but)
	for {
		changed := s.bell.rung()
		a, w, err := r.choose()
		if w != nil {
			if a, err = r.turn(ctx, w); a == nil && err == nil {
				continue
			}
			if a != nil {
				r.settle(a)
			}
		}
		if a != nil {
			if a.line != nil && r.careful && s.lostSince(a.line.reconnects) {
				a.line.fail(errConnection)
				a.member.forget(a.line)
				a.line = nil
			}
			if a.line == nil {
				a.line, err = a.member.connect(ctx)
			}
			if err == nil {
				return a, nil
			}
			a.end(outcome{unsent: true})
			if ctx.Err() != nil {
				return nil, r.gaveUp(ctx)
			}
			last = err
			if s.nc.IsConnected() && r.only == nil { // perhaps there is another one
				r.but = append(r.but, a.member)
				continue
			}
		} else if last == nil {
			last = err
		}
		r.but = r.but[:refused]
		if err != nil && tool.AsError(err).Code != tool.CodeUnavailable || refused > 0 || errors.Is(err, errStateLost) {
			return nil, err
		}
		if limit == nil {
			limit = time.After(reachTime)
		}
		select {
		case <-changed:
		case <-limit:
			return nil, last
		case <-ctx.Done():
			return nil, r.gaveUp(ctx)
		}
	}
}

// errStateLost is the cause of an error that waiting does not help.
var errStateLost = errors.New("the state is lost")

// choose chooses the host of a call among those that are there now, and counts the call there. Without a line, one has
// to be made. It returns a place in the queue if all that can take the call are full.
func (r *remoteCall) choose() (*attempt, *waiter, error) {
	s := r.routes
	if t, p := s.mounts.called(r.call.Name); t != nil {
		r.tool, r.pool = t, p
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.directory.mu.Lock()
	defer s.directory.mu.Unlock()
	p := r.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	o, full, err := r.better()
	if full {
		w, err := p.wait(r)
		return nil, w, err
	}
	if err != nil {
		return nil, nil, err
	}
	a := p.of(o).begin(time.Now())
	r.visit(a)
	return a, nil, nil
}

// settle is what choose does for a call that has had to wait.
func (r *remoteCall) settle(a *attempt) {
	s := r.routes
	s.mu.Lock()
	defer s.mu.Unlock()
	s.directory.mu.Lock()
	defer s.directory.mu.Unlock()
	r.visit(a)
}

// visit notes where the call and its session are. The locks of routes and of the directory are held.
func (r *remoteCall) visit(a *attempt) {
	s, m := r.routes, a.member
	a.line = m.line
	if m.calls.Load() == 1 {
		m.askSoon()
	}
	if r.call.Session == "" {
		return
	}
	s.remember(r.call.Session, m)
	if key := (homeKey{r.call.Session, a.Plugin}); a.Keeps && r.on == "" && (s.homes[key] == nil || s.homes[key].id == "") {
		s.setHome(key, m)
		r.home = m
	}
}

// better returns one of the hosts that can take the call, the better one of two, or that they are full. The locks of routes, of
// the directory and of the pool are held.
func (r *remoteCall) better() (o *offer, full bool, err error) {
	s := r.routes
	v := r.tool.versions[0]
	key := homeKey{r.call.Session, v.offers[0].Plugin}
	b := s.homes[key]
	home := b != nil && b.id != "" && v.offers[0].Keeps && r.on == ""
	tiers := r.pool.tiers
	switch r.only = nil; {
	case home:
		bound := s.homeOf(b)
		if bound == nil {
			b.id, b.losses = "", b.losses+1
			return nil, false, tool.Errorf(tool.CodeUnavailable, "the state that the session had in plugin %s is lost with host %s", key.plugin, b.host).
				Of(r.call.Name, Owner).At(callstage.Execute).Because(errStateLost).
				Try("begin again what was begun in this session: the next call starts without state")
		}
		r.only = []*member{bound}
	case r.on != "":
		if r.only = s.directory.named(r.on); len(r.only) == 0 || severalOwners(r.only) {
			return nil, false, r.noHost(v)
		}
	}
	if home || r.on != "" {
		tiers = [tierCount][]*offer{}
		for _, version := range r.tool.versions {
			for _, o := range version.offers {
				if r.accepts(o.member) && (home || has(o.member.said.Labels, r.rule.Labels)) {
					tiers[0] = append(tiers[0], o)
				}
			}
		}
	}
	if home && len(tiers[0]) > 0 {
		x := r.pool.replicas[tiers[0][0].member]
		return tiers[0][0], x != nil && x.full, nil
	}
	now := time.Now()
	var found [tierCount][unfit]*offer
	for i, tier := range tiers {
		if found[i] = r.look(tier, now); i == 0 && found[0][fit] != nil {
			return found[0][fit], false, nil
		}
	}
	for i := 0; i < tierCount; i += tierAvoided {
		if o := cmp.Or(found[i][fit], found[i|tierFar][fit], found[i][doubtful], found[i|tierFar][doubtful]); o != nil {
			return o, false, nil
		}
	}
	for i, fits := range []fitness{crowded, ejected, refuses} {
		o := cmp.Or(found[0][fits], found[1][fits], found[2][fits], found[3][fits])
		if o != nil && (fits != refuses || len(r.but) == 0) { // to learn whether it still does
			return o, i == 0, nil
		}
	}
	return nil, false, r.noHost(v)
}

// fitness is how well a host can take a call.
type fitness int

const (
	fit      fitness = iota
	doubtful         // something is wrong with it, or it says that it is full
	crowded          // it has refused a call for that
	ejected
	refuses // the caller
	unfit
)

// look returns the cheaper of two hosts, chosen at random, for each fitness that a host has, at least if none has a better one.
func (r *remoteCall) look(offers []*offer, now time.Time) (found [unfit]*offer) {
	n := len(offers)
	if n == 0 {
		return found
	}
	at, step := rand.IntN(n), 1 //nolint:gosec // not a secret
	for n > 2 {
		if step = 1 + rand.IntN(n-1); coprime(step, n) { //nolint:gosec // as above
			break
		}
	}
	var seen [unfit]int
	for range n {
		o := offers[at]
		at = (at + step) % n
		is := r.fitness(o, now)
		if is == unfit || seen[is] == 2 {
			continue
		}
		if found[is] == nil || r.pool.cost(o, now) < r.pool.cost(found[is], now) {
			found[is] = o
		}
		if seen[is]++; seen[fit] == 2 {
			break
		}
	}
	return found
}

// coprime reports whether steps of one size lead to each of so many places.
func coprime(a, b int) bool {
	for b != 0 {
		a, b = b, a%b
	}
	return a == 1
}

// fitness returns how well a host can take the call. The locks of the directory and of the pool are held.
func (r *remoteCall) fitness(o *offer, now time.Time) fitness {
	m := o.member
	if !m.takes() || !r.accepts(m) {
		return unfit
	}
	if x := r.pool.replicas[m]; x != nil {
		switch {
		case x.refuses(r.call.Caller, m.said.Revision, now):
			return refuses
		case x.full:
			return crowded
		case x.isEjected(now):
			return ejected
		}
	}
	if m.late || m.line == nil && !m.lost.IsZero() || m.said.Load.Slots > 0 && m.load() >= m.said.Load.Slots {
		return doubtful
	}
	return fit
}

// accepts reports whether the call may go to a host.
func (r *remoteCall) accepts(m *member) bool {
	return !slices.Contains(r.but, m) && (r.only == nil || slices.Contains(r.only, m))
}

// avoids reports whether a host with these labels is used only if there is no other.
func (r *Rule) avoids(labels map[string]string) bool {
	for k, v := range r.Avoid {
		if now, there := labels[k]; there && now == v {
			return true
		}
	}
	return false
}

// load is how many calls run and wait at the host, as far as this one knows. The directory's lock is held.
func (m *member) load() int {
	return max(m.said.Load.Running+m.said.Load.Waiting, int(m.calls.Load()))
}

// noHost says why no host can take the call. The directory's lock is held.
func (r *remoteCall) noHost(v *version) error {
	why := "each host that shares it drains, and takes no new calls"
	switch {
	case r.on != "" && severalOwners(r.routes.directory.named(r.on)):
		why = "hosts with different keys are called " + r.on + ": " + remedy.Instance.String()
	case r.on != "":
		why = "host " + r.on + " does not share it, or takes no calls"
	case v.reason != "":
		why = v.reason
	case !r.routes.nc.IsConnected():
		why = "the connection to the NATS server is lost"
	}
	return noHost(r.call.Name, why)
}

func noHost(name, why string) error {
	return tool.Errorf(tool.CodeUnavailable, "no host of the fleet can run %s: %s", name, why).Of(name, Owner).
		At(callstage.Execute).NeverSent().Try("try again later").
		Fix(remedy.HostsTools.String())
}
