package fleet

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// pool is what is known of the calls of a mounted tool. It is made by the first one.
type pool struct {
	name string

	mu       sync.Mutex
	tiers    [tierCount][]*offer // of the version that is used; neither the array's elements nor theirs change
	size     int                 // of all tiers
	replicas map[*member]*replica
	expected []time.Duration // of those that have had calls, sorted
	window   window
	recent   [recentCalls]*replica
	next     int // in recent
	waiting  []*waiter
	arrivals uint64
}

// renew takes what is mounted now. The lock of the directory is held.
func (p *pool) renew(t *mounted, rule Rule, own map[string]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tiers, p.size = [tierCount][]*offer{}, 0
	there := make(map[*member]*replica, len(p.replicas))
	for i, v := range t.versions {
		for _, o := range v.offers {
			if x := p.replicas[o.member]; x != nil {
				x.offer = o
				there[o.member] = x
			}
			labels := o.member.said.Labels
			if i > 0 || v.reason != "" || !has(labels, rule.Labels) {
				continue
			}
			tier := 0
			if near, known := own[rule.Near]; rule.Near != "" && known && labels[rule.Near] != near {
				tier |= tierFar
			}
			if rule.avoids(labels) {
				tier |= tierAvoided
			}
			p.tiers[tier] = append(p.tiers[tier], o)
			p.size++
		}
	}
	for m, x := range p.replicas {
		if there[m] == nil {
			p.forget(x)
		}
	}
	p.replicas = there
	p.admit()
}

// close ends what is known of a tool that is gone.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tiers, p.size, p.replicas, p.expected = [tierCount][]*offer{}, 0, map[*member]*replica{}, nil
	p.admit()
}

// of returns what is known of a host's calls.
func (p *pool) of(o *offer) *replica {
	x := p.replicas[o.member]
	if x == nil {
		x = &replica{pool: p, offer: o}
		p.replicas[o.member] = x
	}
	return x
}

// forget takes a replica out of what the others are compared with.
func (p *pool) forget(x *replica) {
	if i, there := slices.BinarySearch(p.expected, x.expected); there && !x.measured.IsZero() {
		p.expected = slices.Delete(p.expected, i, i+1)
	}
}

// median returns that of the times which calls are expected to take at other replicas.
func (p *pool) median(x *replica) time.Duration {
	n, own := len(p.expected), len(p.expected)
	if x != nil && !x.measured.IsZero() {
		own, _ = slices.BinarySearch(p.expected, x.expected)
		n--
	}
	if n == 0 {
		return unknownTime
	}
	other := func(i int) time.Duration {
		if i >= own {
			i++
		}
		return p.expected[i]
	}
	return (other((n-1)/2) + other(n/2)) / 2
}

// expect returns how long a call is expected to take at a replica; nil: one that has had none. What is known of one moves
// towards the others while nothing new is learned.
func (p *pool) expect(x *replica, now time.Time) time.Duration {
	out := p.median(x)
	if x == nil {
		return out
	}
	if !x.measured.IsZero() {
		out += time.Duration(math.Exp(-float64(now.Sub(x.measured))/float64(forgottenIn)) * float64(x.expected-out))
	}
	if len(x.begun) > 0 {
		out = max(out, now.Sub(x.begun[0]))
	}
	return out
}

// cost is what one more call is expected to cost at a replica.
func (p *pool) cost(o *offer, now time.Time) float64 {
	x, n := p.replicas[o.member], 1
	if x != nil {
		n += len(x.begun)
	}
	return float64(max(p.expect(x, now), chance)) * float64(n)
}

// Replicas returns the tools of other hosts that this one has called, sorted by their names and hosts.
func (s *mounts) Replicas() []ReplicaStatus {
	s.mu.Lock()
	pools := slices.Collect(maps.Values(s.pools))
	s.mu.Unlock()
	out := []ReplicaStatus{}
	for _, p := range pools {
		out = append(out, p.status()...)
	}
	slices.SortFunc(out, func(a, b ReplicaStatus) int {
		return cmp.Or(strings.Compare(a.Tool, b.Tool), strings.Compare(a.Host, b.Host), strings.Compare(a.Instance, b.Instance))
	})
	return out
}

func (p *pool) status() (out []ReplicaStatus) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	all := 0
	for _, x := range p.replicas {
		all += x.recent
	}
	for m, x := range p.replicas {
		out = append(out, ReplicaStatus{
			Tool: p.name, Host: m.host, Instance: m.id, Running: len(x.begun), Calls: x.calls, Failed: x.failed,
			Share: float64(x.recent) / float64(max(all, 1)), Expected: p.expect(x, now), Failures: x.failures,
			Ejected: max(x.ejected.Sub(now), 0), Reason: x.why,
		})
	}
	return out
}
