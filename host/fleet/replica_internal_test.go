package fleet

import (
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// newPool returns a pool of hosts that share a tool.
func newPool(hosts int) (*pool, []*replica) {
	p := &pool{name: "t", replicas: map[*member]*replica{}, size: hosts}
	all := make([]*replica, hosts)
	for i := range all {
		o := &offer{member: &member{said: &announcement{}, host: string(rune('a' + i%26))}}
		p.tiers[0] = append(p.tiers[0], o)
		all[i] = p.of(o)
	}
	return p, all
}

// call has a call take so long at the replica.
func (x *replica) call(d time.Duration, o outcome) {
	x.pool.mu.Lock()
	a := x.begin(time.Now())
	x.pool.mu.Unlock()
	time.Sleep(d)
	a.end(o)
}

func (x *replica) expect(t *testing.T, want float64) {
	t.Helper()
	x.pool.mu.Lock()
	defer x.pool.mu.Unlock()
	if got := x.pool.expect(x, time.Now()); math.Abs(float64(got)-want) > 2 {
		t.Errorf("a call is expected to take %v, not %v", got, time.Duration(want))
	}
}

// What a call is expected to take rises at once, falls as calls are shorter, and is forgotten.
func TestExpectedTime(t *testing.T) { //nolint:paralleltest // bubbles are alone
	synctest.Test(t, func(t *testing.T) {
		const ms = float64(time.Millisecond)
		p, all := newPool(4)
		a, b, c, none := all[0], all[1], all[2], all[3]
		a.expect(t, ms)
		a.call(0, outcome{cut: true, failed: "deadline_exceeded"})
		a.call(40*time.Millisecond, outcome{unsent: true})
		a.expect(t, ms)
		b.call(10*time.Millisecond, outcome{})
		b.expect(t, 10*ms)
		c.call(20*time.Millisecond, outcome{})
		time.Sleep(3 * time.Second)
		none.expect(t, 15*ms)
		a.call(100*time.Millisecond, outcome{})
		a.expect(t, 100*ms)
		time.Sleep(5 * time.Second)
		aged := 15*ms + 85*ms*math.Exp(-5.0/30)
		a.expect(t, aged)
		a.call(0, outcome{cut: true})
		a.expect(t, aged)
		a.call(0, outcome{})
		after := aged * math.Exp(-5.0/10)
		a.expect(t, after)
		a.call(time.Second, outcome{cut: true})
		a.expect(t, 1000*ms)
		go a.call(3*time.Second, outcome{})
		time.Sleep(2 * time.Second)
		a.expect(t, 2000*ms)
		time.Sleep(10 * time.Minute)
		a.expect(t, 15*ms+2985*ms*math.Exp(-599.0/30))
		if len(p.expected) != 3 || len(a.begun) != 0 {
			t.Errorf("%v, %v", p.expected, a.begun)
		}
	})
}

// A replica that fails more than the others is ejected for a while, longer each time; then one call is tried at a time.
func TestEjection(t *testing.T) { //nolint:paralleltest // bubbles are alone
	bad := outcome{failed: "crashed"}
	synctest.Test(t, func(t *testing.T) {
		p, all := newPool(3)
		a, b := all[0], all[1]
		is := func(x *replica, want bool) {
			t.Helper()
			if got := x.isEjected(time.Now()); got != want {
				t.Fatalf("%s is ejected: %v, after %d failures", x.offer.member.host, got, x.failures)
			}
		}
		for range failuresInARow {
			is(a, false)
			a.call(0, bad)
			is(b, false)
		}
		for times := range 15 {
			is(a, true)
			d, want := time.Until(a.ejected), min(time.Duration(times+1)*5*time.Second, time.Minute)
			if d < want*4/5 || d > want*6/5 {
				t.Errorf("the %dth time it is ejected for %v", times+1, d)
			}
			time.Sleep(d)
			is(a, false)
			a.call(0, bad)
		}
		for range 2 * failuresInARow {
			b.call(0, bad)
		}
		is(b, false) // more than half would be
		time.Sleep(2 * time.Minute)
		p.mu.Lock()
		trial := a.begin(time.Now())
		p.mu.Unlock()
		is(a, true)
		trial.end(outcome{})
		is(a, false)
		if a.why != "" || !a.ejected.IsZero() {
			t.Errorf("it is still %q", a.why)
		}
	})
	synctest.Test(t, func(t *testing.T) { // half of the calls fail; all others too; all are alike
		_, all := newPool(2)
		for range 4 {
			all[0].call(0, bad)
			all[0].call(0, outcome{})
		}
		all[0].call(0, outcome{})
		if all[0].isEjected(time.Now()) {
			t.Error("nine calls are too few")
		}
		all[0].call(0, bad)
		if !all[0].isEjected(time.Now()) {
			t.Error("half of ten have failed")
		}
		_, all = newPool(2)
		for range 20 {
			all[0].call(0, bad)
			all[1].call(0, bad)
		}
		for i, x := range all {
			if i == 1 && x.isEjected(time.Now()) {
				t.Error("it fails as the other does")
			}
		}
	})
}

// The choice among a thousand hosts costs what one among two does, and nothing is allocated for it.
func BenchmarkChoice(b *testing.B) {
	for name, n := range map[string]int{"2": 2, "1000": 1000} {
		b.Run(name, func(b *testing.B) {
			p, all := newPool(n)
			for i, x := range all {
				x.measure(time.Duration(i)*time.Millisecond, false, time.Now())
			}
			r := &remoteCall{pool: p}
			now := time.Now()
			b.ReportAllocs()
			for b.Loop() {
				if r.look(p.tiers[0], now)[fit] == nil {
					b.Fatal("none")
				}
			}
		})
	}
}

// A definition that no host offers any more is kept for a while, and then forgotten; one that is too large is at once.
func TestUnusedDefinitions(t *testing.T) { //nolint:paralleltest // bubbles are alone
	synctest.Test(t, func(t *testing.T) {
		s := &mounts{defs: map[string]*definition{"small": {size: 1}, "large": {size: maxUnused}}}
		s.mu.Lock()
		s.retire("small", s.defs["small"])
		s.retire("large", s.defs["large"])
		s.mu.Unlock()
		kept := func(after time.Duration, want int) {
			t.Helper()
			time.Sleep(after)
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(s.defs) != want || s.unused != want || s.defs["large"] != nil || s.sweeping != (want > 0) {
				t.Errorf("%d bytes of %v are kept", s.unused, s.defs)
			}
		}
		kept(keptUnused/2, 1)
		kept(keptUnused, 0)
	})
}
