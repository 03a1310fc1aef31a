package verify

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"fmt"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// usage is what a process uses of the system.
type usage struct {
	rest, after moment // before the calls and after them
	calls       int
	told        bool // whether the system says what threads do
	busy        int  // percent of a processor that it takes at rest
	err         error
}

// moment is the usage at one moment.
type moment struct {
	memory      int64 // resident, in bytes
	descriptors int
	threads     int
	processes   int
	tasks       int                          // goroutines; 0: they are not seen
	work        map[int]procfs.ProcSchedstat // of each thread, by its number
	ready       map[int]bool                 // which of them run, or could
}

// The measurement: calls before it, so that what is made once is made, calls, and how long the
// process is watched at rest.
const (
	warmUp   = 200
	measured = 1000
	atRest   = 500 * time.Millisecond
	settle   = 200 * time.Millisecond
	longest  = 5 * time.Second // for more calls than those
)

// look reads the usage of a process.
func (p *process) look() (u moment, err error) {
	of, err := procfs.NewProc(p.pid)
	if err != nil {
		return u, fmt.Errorf("this system does not say what a process uses: %w", err)
	}
	stat, err := of.Stat()
	if err != nil {
		return u, err
	}
	u.threads, u.memory = stat.NumThreads, int64(stat.ResidentMemory())
	u.processes, _ = p.group.Usage()
	threads, _ := procfs.AllThreads(p.pid) // one may end meanwhile, and not every system tells
	u.work, u.ready = map[int]procfs.ProcSchedstat{}, map[int]bool{}
	for _, thread := range threads {
		if work, err := thread.Schedstat(); err == nil {
			u.work[thread.PID] = work
			stat, err := thread.Stat()
			u.ready[thread.PID] = err == nil && stat.State == "R"
		}
	}
	u.descriptors, err = of.FileDescriptorsLen()
	return u, err
}

// busy returns how many percent of a processor the threads have taken between two moments.
// The time for which a thread waited for others' programs does not count: on a busy machine a
// thread that always has something to do gets little.
func busy(first, last moment, between time.Duration) int {
	var percent float64
	for id, now := range last.work {
		before := first.work[id]
		ran := float64(now.RunningNanoseconds - before.RunningNanoseconds)
		waited := float64(now.WaitingNanoseconds - before.WaitingNanoseconds)
		if first.ready[id] && last.ready[id] { // and how long it waits for its turn is not told before that
			waited = float64(between)
		}
		percent += 100 * ran / max(float64(between)-waited, ran, 1)
	}
	return int(percent)
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
	defer s.end(p)
	err = pause(ctx, settle)
	first, bad := p.look()
	began := time.Now()
	last, worse := first, pause(ctx, atRest)
	if err = cmp.Or(err, bad, worse); err == nil {
		last, err = p.look()
	}
	u.told, u.busy = len(last.work) > 0, busy(first, last, time.Since(began))
	all := s.quick(longest / measured)
	enough := func() bool {
		return u.calls >= measured && (u.calls >= measured*len(all) || time.Since(began) > longest)
	}
	for i := 0; err == nil && !enough(); i++ {
		if i == warmUp {
			u.rest, err = p.look()
			began = time.Now()
		}
		if len(all) > 0 {
			name, args = all[i%len(all)].def.Name, all[i%len(all)].args
		}
		if err == nil {
			_, err = p.link.execute(ctx, s.request(name, args))
		}
		u.calls = max(i+1-warmUp, 0)
	}
	if err == nil {
		u.after, err = p.look()
		u.after.tasks = p.tasks(s.path)
	}
	return err
}

// tasks ends a program in Go by the signal upon which its runtime writes what each goroutine does, and counts them.
func (p *process) tasks(path string) int {
	if _, err := buildinfo.ReadFile(path); err != nil {
		return 0
	}
	p.stderr.mu.Lock()
	p.stderr.dumps = true
	p.stderr.mu.Unlock()
	p.killing.Lock()
	if !p.reaped {
		_ = syscall.Kill(p.pid, syscall.SIGQUIT)
	}
	p.killing.Unlock()
	p.waitEnd(dumpTime)
	late := time.After(dumpTime)
	for _, more := p.stderr.look(); more != nil; _, more = p.stderr.look() { // what it wrote last is still to be read
		select {
		case <-more:
		case <-late:
			return 0
		}
	}
	p.stderr.mu.Lock()
	defer p.stderr.mu.Unlock()
	return p.stderr.tasks
}

// dumpTime bounds the list of goroutines, which a busy machine takes its time for.
const dumpTime = 30 * time.Second

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
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
	{"MiB of memory", 64, func(m moment) int64 { return m.memory >> 20 }},
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
				if !u.told {
					return skip("this system does not say what a thread does")
				}
				if u.busy > busyPercentage {
					return fail("at rest it takes %d %% of a processor", u.busy)
				}
				return passed
			}),
		uses("resources.memory", "at rest it takes less than 256 MiB, and less than it declares",
			"load less at the start, or declare memory_bytes as it is", func(u *usage, s *subject) finding {
				switch declared := s.about.GetNeeds().GetMemoryBytes(); {
				case declared > 0 && u.rest.memory > declared:
					return fail("it has %d MiB in memory, more than the %d MiB that it declares", u.rest.memory>>20, declared>>20)
				case u.rest.memory > largeMemory:
					return warn("it has %d MiB in memory", u.rest.memory>>20)
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
				if len(f) == 0 && u.after.tasks == 0 {
					return finding{Pass, "tasks and timers are not seen: only programs in Go list what runs in them"}
				}
				return f.finding(Fail)
			}),
	}
}
