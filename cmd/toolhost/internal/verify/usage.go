package verify

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/deadline"
)

// usage is what a process uses of the system.
type usage struct {
	rest, after moment // before the calls and after them
	calls       int
	unknown     bool // they were of a tool that does not exist
	busy        int  // percent of a processor that it takes at rest
	err         error
}

// moment is the usage at one moment.
type moment struct {
	confine.Usage
	at                                     time.Time
	work                                   time.Duration // of its threads, with the time for which they waited for others' programs
	descriptors, threads, processes, tasks int           // tasks are goroutines; 0: they are not seen
}

// The measurement: calls before it, so that what is made once is made, calls, and how long the
// process is watched at rest.
const (
	warmUp   = 200
	measured = 1000
	atRest   = 500 * time.Millisecond
	settle   = 200 * time.Millisecond
	longest  = 5 * time.Second // for the calls
)

var errUnseen = errors.New("this system does not say what a process uses")

// look reads the usage of a process and of what it has started.
func (p *process) look() (m moment, err error) {
	below, all := confine.UsageBelow(p.Pid, maxEntries)
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.Pid))
	if err != nil || len(all) == 0 {
		return m, errUnseen
	}
	m = moment{Usage: below, at: time.Now(), threads: len(threads), descriptors: confine.Descriptors(all)}
	m.processes, _ = p.group.Usage()
	for _, thread := range threads { // one that always has something to do works or waits, also on a busy machine
		var worked, waited time.Duration
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", p.Pid, thread.Name())) // it may have ended
		_, _ = fmt.Sscan(string(text), &worked, &waited)
		m.work += worked + waited
	}
	m.work = cmp.Or(m.work, m.CPU)
	return m, nil
}

// busy returns how many percent of a processor the process takes when it is at rest, or cancelTime has passed.
func (p *process) busy(ctx context.Context) (percent int, err error) {
	for range cancelTime / atRest {
		first, err := p.look()
		if err == nil {
			err = pause(ctx, atRest)
		}
		last, again := p.look()
		percent = int(100 * (last.work - first.work) / max(last.at.Sub(first.at), 1))
		if err = cmp.Or(err, again); err != nil || percent <= busyPercentage {
			return percent, err
		}
	}
	return percent, nil
}

// measure measures a process of its own, once.
func (s *subject) measure(ctx context.Context) *usage {
	if s.used == nil {
		s.used = &usage{}
		s.used.err = s.used.take(ctx, s)
	}
	return s.used
}

func (u *usage) take(ctx context.Context, s *subject) error {
	name, args, err := s.filler()
	if err != nil {
		return err
	}
	p, err := s.open(ctx, startOptions{})
	if err != nil {
		return err
	}
	defer p.end()
	if err = pause(ctx, settle); err == nil {
		u.busy, err = p.busy(ctx)
	}
	u.unknown = name == noTool
	all := s.quick(longest / measured)
	repeat := func(most int) (n int) { // or as many as there is time for
		for began := time.Now(); n < most && (s.Long || time.Since(began) < longest); n++ {
			if len(all) > 0 {
				name, args = all[n%len(all)].def.Name, all[n%len(all)].args
			}
			if _, bad := p.client.Execute(ctx, s.request(name, args)); bad != nil {
				break // what the tool needs may be gone; whether the process is, is seen below
			}
		}
		return n
	}
	if err == nil {
		repeat(warmUp)
		u.rest, err = p.look()
		u.calls = repeat(measured * max(1, len(all)))
	}
	if err == nil {
		u.after, err = p.look()
		u.after.tasks = p.tasks(ctx, s.path)
	}
	return err
}

// tasks ends a program in Go by the signal upon which its runtime writes what each goroutine does, and counts them.
func (p *process) tasks(ctx context.Context, path string) int {
	if _, err := buildinfo.ReadFile(path); err != nil {
		return 0
	}
	p.stderr.mu.Lock()
	p.stderr.dumps = true
	p.stderr.mu.Unlock()
	if p.Signal(syscall.SIGQUIT) != nil || !p.ends(ctx, dumpTime) { // and so all that it wrote is read
		return 0
	}
	p.stderr.mu.Lock()
	defer p.stderr.mu.Unlock()
	return p.stderr.tasks
}

// dumpTime bounds the list of goroutines, which a busy machine takes its time for.
const dumpTime = 30 * time.Second

func pause(ctx context.Context, d time.Duration) error {
	if !deadline.Sleep(ctx, d) {
		return context.Cause(ctx)
	}
	return nil
}

// The limits of what a process uses.
const (
	largeMemory    = 256 << 20 // at rest
	busyPercentage = 30
)

// kept is what a process may have more of after the calls.
var kept = []struct {
	what  string
	limit int64
	of    func(moment) int64
}{
	{"MiB of memory", 64, func(m moment) int64 { return m.Memory >> 20 }},
	{"descriptors", 16, func(m moment) int64 { return int64(m.descriptors) }},
	{"processes", 4, func(m moment) int64 { return int64(m.processes) }},
	{"threads", 64, func(m moment) int64 { return int64(m.threads) }},
	{"goroutines", 500, func(m moment) int64 { return int64(m.tasks) }},
}

func resourceChecks() []Check {
	after := []string{"start.twice", "calls.unknown"}
	uses := func(id, what, do string, judge func(*usage, *subject) finding) Check {
		return check(id, "rules", after, what, do, func(ctx context.Context, s *subject) finding {
			u := s.measure(ctx)
			if u.err != nil {
				return skip("%v", u.err)
			}
			return judge(u, s)
		})
	}
	return []Check{
		uses("resources.idle", "at rest it leaves the processor alone", "wait for events, and do not poll in a loop",
			func(u *usage, _ *subject) finding {
				return foundIf(u.busy > busyPercentage, fail("at rest it takes %d %% of a processor", u.busy))
			}),
		uses("resources.memory", "at rest it takes less than 256 MiB, and less than it declares",
			"load less at the start, or declare memory_bytes as it is", func(u *usage, s *subject) finding {
				switch declared := s.about.GetNeeds().GetMemoryBytes(); {
				case declared > 0 && u.rest.Memory > declared:
					return fail("it has %d MiB in memory, more than the %d MiB that it declares", u.rest.Memory>>20, declared>>20)
				case u.rest.Memory > largeMemory:
					return warn("it has %d MiB in memory", u.rest.Memory>>20)
				}
				return passed
			}),
		uses("resources.kept", "1,000 calls leave no memory, descriptors, processes, threads or goroutines",
			"forget, close and end what belongs to a call when the call ends, and wait for child processes",
			func(u *usage, _ *subject) finding {
				var f faults
				for _, k := range kept {
					if more := k.of(u.after) - k.of(u.rest); more > k.limit {
						f.add("after %d calls it has %d more %s", u.calls, more, k.what)
					}
				}
				switch {
				case len(f) > 0:
					return f.finding(Fail)
				case u.unknown:
					return unknownCalled
				case u.calls < measured:
					return noted("%d calls were made, as they take long", u.calls)
				case u.after.tasks == 0:
					return noted("tasks and timers are not seen: only programs in Go list what runs in them")
				}
				return passed
			}),
	}
}
