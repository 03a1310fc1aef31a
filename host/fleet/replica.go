package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// When a replica is ejected, and for how long.
const (
	failuresInARow = 5
	leastCalls     = 10 // in the time of a window, of which half have failed
	ejectedFor     = 5 * time.Second
	longestEjected = time.Minute
)

// How the time that a call is expected to take follows those that calls took.
const (
	unknownTime  = time.Millisecond // of a tool that has had no calls
	followsIn    = 10 * time.Second
	forgottenIn  = 30 * time.Second
	chance       = time.Millisecond // below, differences of times are
	recentCalls  = 100
	maxRefusals  = 64 // remembered for each replica
	fullFor      = time.Second
	refusedFor   = time.Minute     // a caller
	refusesAllIn = 5 * time.Second // whoever calls
)

// ReplicaStatus is a tool at one of the hosts that it is mounted of, as this host's calls have found it.
type ReplicaStatus struct {
	// Tool is the name that it has here, Host what the other host calls itself, and Instance its start.
	Tool     string `json:"tool"`
	Host     string `json:"host"`
	Instance string `json:"instance"`
	// Running is how many calls are in progress there, Calls how many have ended, and Failed how many of those failed.
	Running int   `json:"running"`
	Calls   int64 `json:"calls"`
	Failed  int64 `json:"failed"`
	// Share is which part of the tool's last 100 calls went there.
	Share float64 `json:"share"`
	// Expected is how long a call is expected to take.
	Expected time.Duration `json:"expected_ns"`
	// Failures is how many calls in a row have failed.
	Failures int `json:"failures"`
	// Ejected is for how long calls go elsewhere, and Reason why; 0: they do not, or it is tried again if there is a
	// reason.
	Ejected time.Duration `json:"ejected_ns"`
	Reason  string        `json:"reason,omitempty"`
}

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

// The tiers: near ones, others, and both of the hosts to avoid.
const (
	tierFar = 1 << iota
	tierAvoided
	tierCount
)

// replica is what is known of a tool's calls at one host. It is guarded by the lock of its pool.
type replica struct {
	pool   *pool
	offer  *offer
	begun  []time.Time // of the calls in progress, oldest first
	calls  int64
	failed int64
	recent int

	expected time.Duration
	measured time.Time // zero: never

	failures int
	window   window
	ejected  time.Time // until then; zero: it is not
	times    int
	why      string

	refused map[string]refusal // by caller; empty: all
	full    bool               // its places are for those that wait, one for each call that ends
	retry   time.Time
}

// refusal is that a host took no call of a caller, which holds until it says that something has changed.
type refusal struct {
	revision uint64
	until    time.Time
}

// window counts calls of the last ten seconds.
type window [10]struct {
	second        int64
	calls, failed int
}

func (w *window) add(now time.Time, failed bool) {
	second := now.Unix()
	b := &w[second%int64(len(w))]
	if b.second != second {
		b.second, b.calls, b.failed = second, 0, 0
	}
	b.calls++
	if failed {
		b.failed++
	}
}

func (w *window) sum(now time.Time) (calls, failed int) {
	for _, b := range w {
		if now.Unix()-b.second < int64(len(w)) {
			calls, failed = calls+b.calls, failed+b.failed
		}
	}
	return calls, failed
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

// measure takes into account how long a call took, and one that was cut short only if it took longer than expected.
func (x *replica) measure(took time.Duration, cut bool, now time.Time) {
	p := x.pool
	expected := took
	if before := p.median(x); !x.measured.IsZero() {
		since := float64(now.Sub(x.measured))
		before += time.Duration(math.Exp(-since/float64(forgottenIn)) * float64(x.expected-before))
		if took <= before {
			if cut {
				return
			}
			expected = before + time.Duration((1-math.Exp(-since/float64(followsIn)))*float64(took-before))
		}
	} else if cut && took <= before {
		return
	}
	p.forget(x)
	x.expected, x.measured = expected, now
	i, _ := slices.BinarySearch(p.expected, expected)
	p.expected = slices.Insert(p.expected, i, expected)
}

// attempt is a call at a replica.
type attempt struct {
	*offer

	replica *replica
	line    *line
	begun   time.Time
}

// begin counts a call at the replica.
func (x *replica) begin(now time.Time) *attempt {
	p := x.pool
	x.begun = append(x.begun, now)
	x.offer.member.calls.Add(1)
	if old := p.recent[p.next]; old != nil {
		old.recent--
	}
	p.recent[p.next] = x
	x.recent++
	p.next = (p.next + 1) % recentCalls
	return &attempt{offer: x.offer, replica: x, begun: now}
}

// outcome is how an attempt has ended.
type outcome struct {
	unsent bool
	full   bool   // the host had no place
	cut    bool   // the time of its caller was over, or the caller gave it up
	failed string // why it counts against the replica; empty: it does not
}

// end counts out a call. Its place is for one that waits.
func (a *attempt) end(o outcome) {
	defer a.member.release(1)
	x := a.replica
	p := x.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if i, there := slices.BinarySearchFunc(x.begun, a.begun, time.Time.Compare); there {
		x.begun = slices.Delete(x.begun, i, i+1)
	}
	if p.replicas[a.member] != x { // the host is gone
		return
	}
	if !o.unsent {
		x.calls++
		x.measure(now.Sub(a.begun), o.cut, now)
		if o.failed != "" || !o.cut {
			x.judge(o.failed, now)
		}
	}
	if x.full && !o.full {
		if p.wake(x, now); now.After(x.retry) { // it may take more than it did
			p.wake(x, now)
		}
	}
}

// judge takes into account that a call has failed, or was well if there is no reason, and ejects a replica that fails more than
// the others.
func (x *replica) judge(why string, now time.Time) {
	p := x.pool
	x.window.add(now, why != "")
	p.window.add(now, why != "")
	if why == "" {
		x.failures = 0
		if !now.Before(x.ejected) {
			x.ejected, x.why = time.Time{}, ""
		}
		return
	}
	x.failed++
	x.failures++
	calls, failed := x.window.sum(now)
	switch again := !x.ejected.IsZero(); {
	case again && now.Before(x.ejected): // a call from before
		return
	case again:
	case x.failures < failuresInARow && (calls < leastCalls || 2*failed < calls):
		return
	default:
		all, allFailed := p.window.sum(now)
		others, othersFailed := all-calls, allFailed-failed
		if 2*othersFailed*calls >= failed*others && others > 0 || 2*(p.ejected()+1) > p.size {
			return
		}
	}
	x.times++
	d := min(time.Duration(x.times)*ejectedFor, longestEjected)
	x.ejected = now.Add(d - d/5 + rand.N(2*d/5+1)) //nolint:gosec // not a secret
	x.why = fmt.Sprintf("%d calls in a row failed there, the last as %s", x.failures, why)
	if x.failures < failuresInARow {
		x.why = fmt.Sprintf("%d of %d calls failed there in 10 s, the last as %s", failed, calls, why)
	}
}

// ejected counts the replicas that are.
func (p *pool) ejected() int {
	n := 0
	for _, x := range p.replicas {
		if !x.ejected.IsZero() {
			n++
		}
	}
	return n
}

// isEjected reports whether calls go elsewhere. One at a time is tried after that.
func (x *replica) isEjected(now time.Time) bool {
	return !x.ejected.IsZero() && (now.Before(x.ejected) || len(x.begun) > 0)
}

// refuse notes that a call was refused before it began, and reports whether the host had no place for it. Otherwise calls of
// the caller, or of all if it is not about who calls, go elsewhere.
func (x *replica) refuse(caller string, e *tool.Error) (full bool) {
	wait, d := time.Duration(e.RetryAfter), x.offer.member.directory
	if isFull(e) {
		x.fill(min(cmp.Or(max(wait, 0), fullFor), refusedFor))
		return true
	}
	switch e.Code {
	case tool.CodeResourceExhausted:
		wait = cmp.Or(max(wait, 0), fullFor)
	case tool.CodePermissionDenied, tool.CodeApprovalRequired, tool.CodeRateLimited:
		wait = cmp.Or(max(wait, 0), refusedFor)
	case tool.CodeUnavailable, tool.CodeCrashed, tool.CodeNotFound:
		caller, wait = "", cmp.Or(max(wait, 0), refusesAllIn)
	default:
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	x.pool.mu.Lock()
	defer x.pool.mu.Unlock()
	if len(x.refused) >= maxRefusals {
		clear(x.refused)
	}
	if x.refused == nil {
		x.refused = map[string]refusal{}
	}
	x.refused[caller] = refusal{x.offer.member.said.Revision, time.Now().Add(min(wait, refusedFor))}
	return false
}

func (x *replica) refuses(caller string, revision uint64, now time.Time) bool {
	for _, who := range [...]string{caller, ""} {
		if r, there := x.refused[who]; there && r.revision == revision && now.Before(r.until) {
			return true
		}
	}
	return false
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
