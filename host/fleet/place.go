package fleet

import (
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
	s := r.routes
	var limit <-chan time.Time
	var last error
	for {
		changed := s.bell.rung()
		o, l, err := r.choose(but)
		if l != nil && r.careful && s.lostSince(l.reconnects) {
			l.fail(errConnection)
			o.member.forget(l)
			l = nil
		}
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
		case err != nil && tool.AsError(err).Code != tool.CodeUnavailable, but != nil, errors.Is(err, errStateLost):
			return nil, nil, err
		default:
			last = err
		}
		if limit == nil {
			limit = time.After(reachTime)
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

// errStateLost is the cause of an error that waiting does not help.
var errStateLost = errors.New("the state is lost")

// choose chooses the host of a call among those that are there now, and counts the call there. Without a line, one has
// to be made.
func (r *remoteCall) choose(but *member) (*offer, *line, error) {
	s := r.routes
	if t := s.mounts.tool(r.call.Name); t != nil {
		r.tool = t
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.directory.mu.Lock()
	defer s.directory.mu.Unlock()
	o, err := r.better(but)
	if err != nil {
		return nil, nil, err
	}
	if o.member.calls.Add(1) == 1 {
		o.member.askSoon()
	}
	return o, o.member.line, nil
}

// better returns one of the hosts that can take the call, the better one of two. The locks of routes and of the
// directory are held.
func (r *remoteCall) better(but *member) (*offer, error) {
	s := r.routes
	v := r.tool.versions[0]
	key := homeKey{r.call.Session, v.offers[0].Plugin}
	if b := s.homes[key]; b != nil && b.id != "" && v.offers[0].Keeps && r.on == "" {
		bound := s.homeOf(b)
		if bound == nil {
			b.id, b.losses = "", b.losses+1
			return nil, tool.Errorf(tool.CodeUnavailable, "the state that the session had in plugin %s is lost with host %s", key.plugin, b.host).
				Of(r.call.Name, Owner).At(callstage.Execute).Because(errStateLost).
				Try("begin again what was begun in this session: the next call starts without state")
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
		s.remember(r.call.Session, o.member)
		if o.Keeps && r.on == "" {
			s.setHome(key, o.member)
			r.home = o.member
		}
	}
	return o, nil
}

// candidates returns the hosts that can take the call: if there are any, those that answer, have a
// line, and are not to be avoided. The directory's lock is held.
func (r *remoteCall) candidates(v *version, but *member) []*offer {
	offers := v.offers
	var named []*member
	if r.on != "" {
		offers = nil
		if named = r.routes.directory.named(r.on); severalOwners(named) {
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
		func(o *offer) bool { return o.member.linked() },
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

// load is how many calls run and wait at the host, as far as this one knows. The directory's lock is held.
func (m *member) load() int {
	return max(m.said.Load.Running+m.said.Load.Waiting, int(m.calls.Load()))
}

// cost is what a call at the host is expected to take, in comparison with others. The directory's lock
// is held.
func (m *member) cost() float64 {
	const least = 50 * time.Microsecond // below, differences are chance
	return float64(m.load()+1) / float64(max(m.said.Load.Slots, 1)) * float64(max(m.latency.Load(), int64(least)))
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
