package fleet

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
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
	asked   bool // a person there, whose time is not the replica's
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
		if !a.asked {
			x.measure(now.Sub(a.begun), o.cut, now)
		}
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
