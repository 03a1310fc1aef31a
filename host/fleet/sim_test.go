package fleet

import (
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// What is simulated. `make simulate-fleet` has larger values.
var (
	simNumber     = flag.Int("sim.hosts", 30, "simulated hosts")
	simTools      = flag.Int("sim.tools", 20, "tools of each")
	simProperties = flag.Int("sim.properties", 3, "arguments of each tool")
	simDuration   = flag.Duration("sim.duration", time.Second, "how long is measured while nothing changes, and while much does")
	simToolChurn  = flag.Float64("sim.toolchurn", 20, "tools that are added, removed or changed in a second")
	simHostChurn  = flag.Float64("sim.hostchurn", 4, "hosts that leave, are killed or come back in a second")
	simDown       = flag.Duration("sim.down", 0, "how long the server is away when it is restarted")
	simPatience   = flag.Duration("sim.patience", time.Minute, "how long one step may take")
)

// simulation is a run with one kind of tools.
type simulation struct {
	t               testing.TB
	server          simServer
	hosts, observer *simProcess
	out             io.Writer
	before          simUsage // of the observer, in an empty fleet
}

// TestSimulatedFleet measures a host in a fleet of many. Whatever the numbers, the registry has to have what the hosts share
// in the end, and messages have bounds.
func TestSimulatedFleet(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 11 s of CPU time: .ci/long runs it")
	}
	t.Parallel()
	out := t.Output()
	_, _ = fmt.Fprintf(out, `
This is a simulation of a fleet of %d hosts with %d tools each, on one machine.
Real: the NATS server; the observer, a host of a process of its own that mounts all tools; the connections of the other
hosts, their signatures, announcements, links, indexes and definitions.
Not real: the other hosts are in one process, have one key, no registries and no calls, and do not hear of each other.
Messages and bytes are counted by the server, CPU time by the system, memory by the observer's runtime.

`, *simNumber, *simTools)
	for _, same := range []bool{false, true} { //nolint:paralleltest // one after the other, as both want all of the machine
		t.Run(map[bool]string{false: "different", true: "same"}[same], func(t *testing.T) {
			s := &simulation{t: t, out: out}
			s.begin(same)
			s.join()
			s.idle()
			if !same {
				s.churn()
			}
			s.restart()
		})
	}
}

func (s *simulation) begin(same bool) {
	keyFile := filepath.Join(s.t.TempDir(), "key")
	key, err := KeyFile(keyFile)
	if err != nil {
		s.t.Fatal(err)
	}
	s.server.start(s.t, key.Public())
	s.t.Cleanup(func() { s.server.Shutdown() })
	spec := simSpec{
		Role: "hosts", URL: s.server.ClientURL(), KeyFile: keyFile, Hosts: *simNumber, Tools: *simTools, Properties: *simProperties, Same: same,
	}
	s.hosts = startSimulated(s.t, spec)
	spec.Role = "observer"
	s.observer = startSimulated(s.t, spec)
	s.hosts.events = func(e *simEvent) { s.observer.tell(simCommand{Do: "event", Event: e}) }
	s.before = s.observer.ask(simCommand{Do: "usage", Count: 1}).Usage
	kind := "each host has tools of its own"
	if same {
		kind = "all hosts have the same tools"
	}
	_, _ = fmt.Fprintf(s.out, "%s\n", kind)
}

func (s *simulation) say(what, format string, args ...any) {
	_, _ = fmt.Fprintf(s.out, "  %-34s %s\n", what, fmt.Sprintf(format, args...))
}

// join has the observer join a fleet that is there.
func (s *simulation) join() {
	s.hosts.ask(simCommand{Do: "join"})
	before, used := s.server.traffic(s.t), s.observer.ask(simCommand{Do: "usage"}).Usage
	begin := time.Now()
	joined := s.observer.ask(simCommand{Do: "join"})
	s.observer.tell(simCommand{Do: "await", Count: *simNumber})
	r := s.observer.answer("await")
	after, now := s.server.traffic(s.t), s.observer.ask(simCommand{Do: "usage"}).Usage
	s.bound("joining", after.since(before), 8)
	s.say("joining: Join returns", "%v, with %d tools", round(joined.At.Sub(begin)), joined.Tools)
	s.say("  everything is read", "%v", round(r.Mounted.Sub(begin)))
	s.say("  it is in the registry", "%v, %d tools", round(r.At.Sub(begin)), r.Tools)
	s.say("  observer's messages", "%s", after.since(before).observed())
	s.say("  observer's CPU time", "%v, %s allocated", round(now.CPU-used.CPU), size(float64(now.Allocated-used.Allocated)))
	s.check("after joining")
	usage := s.observer.ask(simCommand{Do: "usage", Count: 1}).Usage
	offers := float64(*simNumber * *simTools)
	s.say("memory: heap a remote tool", "%s of %.0f, %s together", size(float64(usage.Heap-s.before.Heap)/offers), offers,
		size(float64(usage.Heap-s.before.Heap)))
	s.say("  goroutines a host", "%.1f, with %s of stacks", float64(usage.Goroutines-s.before.Goroutines)/float64(*simNumber),
		size(float64(usage.Stacks-s.before.Stacks)/float64(*simNumber)))
	s.say("  server's subscriptions a host", "%.1f", float64(after.subscriptions)/float64(*simNumber+1))
}

// bound fails if more messages came than the other hosts' announcements, each of them late and so asked for, and some a host.
func (s *simulation) bound(when string, d difference, aHost int) {
	s.t.Helper()
	every := everyOf(*simNumber)
	rounds := 1 + int64(d.time/every)
	if most := int64(*simNumber) * (2*rounds + int64(aHost)); d.toObserver > most || d.fromObserver > most {
		s.t.Errorf("%s, the observer received %d messages and sent %d: more than %d", when, d.toObserver, d.fromObserver, most)
	}
}

// check compares the registry with what the hosts have.
func (s *simulation) check(when string) {
	s.t.Helper()
	want, got := s.hosts.ask(simCommand{Do: "state"}), s.observer.ask(simCommand{Do: "state"})
	if want.State != got.State {
		s.t.Errorf("%s, the registry has other tools than the hosts: %d, and not %d", when, got.Tools, want.Tools)
	}
}

// idle measures while nothing changes.
func (s *simulation) idle() {
	used, before := s.observer.ask(simCommand{Do: "usage"}), s.server.traffic(s.t)
	<-time.After(*simDuration)
	now, after := s.observer.ask(simCommand{Do: "usage"}), s.server.traffic(s.t)
	d := after.since(before)
	s.bound("idle", d, 0)
	seconds := d.time.Seconds()
	sent := float64(d.all) / seconds / float64(*simNumber+1)
	s.say("idle: messages a host", "%.2f/s, %s/s", sent, size(float64(d.allBytes)/seconds/float64(*simNumber+1)))
	s.say("  observer's messages", "%s", d.observed())
	s.say("  observer's CPU time", "%.1f %% of a core, %s/s allocated", share(used, now),
		size(float64(now.Usage.Allocated-used.Usage.Allocated)/now.At.Sub(used.At).Seconds()))
}

// churn measures while much changes.
func (s *simulation) churn() {
	before := s.server.traffic(s.t)
	used := s.observer.ask(simCommand{Do: "usage"})
	s.hosts.ask(simCommand{Do: "churn", Tools: *simToolChurn, Hosts: *simHostChurn, Duration: *simDuration})
	changed := time.Now()
	now, after := s.observer.ask(simCommand{Do: "usage"}), s.server.traffic(s.t)
	r := s.observer.ask(simCommand{Do: "settle"})
	s.say("churn: observer's messages", "%s", after.since(before).observed())
	s.say("  observer's CPU time", "%.1f %% of a core", share(used, now))
	s.say("  settled after the last change", "%v", round(r.At.Sub(changed)))
	for _, kind := range []string{"tool added", "tool removed", "tool changed", "host left", "host killed", "host came back"} {
		all := r.Latency[kind]
		if len(all) == 0 {
			continue
		}
		slices.Sort(all)
		at := func(percent int) time.Duration { return round(all[(len(all)-1)*percent/100]) }
		s.say("  "+kind, "%d times: p50 %v, p99 %v, max %v", len(all), at(50), at(99), at(100))
	}
	if r.Missed > 0 {
		s.say("  overtaken by another change", "%d", r.Missed)
	}
	s.check("after the churn")
}

// restart restarts the server.
func (s *simulation) restart() {
	key := s.server.options.Nkeys[0].Nkey
	s.server.Shutdown()
	s.server.WaitForShutdown()
	<-time.After(*simDown)
	used := s.observer.ask(simCommand{Do: "usage"}).Usage
	begin := time.Now()
	s.server.start(s.t, key)
	s.observer.tell(simCommand{Do: "await", Count: *simNumber})
	r := s.observer.answer("await")
	after, now := s.server.traffic(s.t), s.observer.ask(simCommand{Do: "usage"}).Usage
	s.bound("after the restart", after.since(traffic{at: begin}), 8+2)
	s.say("restart: everything is read", "%v after the server is back", round(r.Mounted.Sub(begin)))
	s.say("  it is in the registry", "%v", round(r.At.Sub(begin)))
	s.say("  observer's messages", "%s", after.since(traffic{at: begin}).observed())
	s.say("  observer's CPU time", "%v", round(now.CPU-used.CPU))
	s.check("after the restart")
	<-time.After(*simDuration)
	d := s.server.traffic(s.t).since(after)
	s.bound("later", d, 0)
	s.say("  afterwards", "%s", d.observed())
	s.say("  server's slow consumers", "%d", after.slow)
}

// share returns how much of a core a process has used between two measurements, in percent.
func share(before, after simReply) float64 {
	return 100 * (after.Usage.CPU - before.Usage.CPU).Seconds() / after.At.Sub(before.At).Seconds()
}

// difference is traffic of a time.
type difference struct {
	traffic

	time time.Duration
}

func (t traffic) since(before traffic) difference {
	t.fromObserver -= before.fromObserver
	t.toObserver -= before.toObserver
	t.all -= before.all
	t.bytesFromObserver -= before.bytesFromObserver
	t.bytesToObserver -= before.bytesToObserver
	t.allBytes -= before.allBytes
	return difference{t, t.at.Sub(before.at)}
}

// observed is what the observer has received and sent.
func (d difference) observed() string {
	seconds := d.time.Seconds()
	return fmt.Sprintf("%d received (%.0f/s, %s/s), %d sent (%.0f/s, %s/s)", d.toObserver, float64(d.toObserver)/seconds,
		size(float64(d.bytesToObserver)/seconds), d.fromObserver, float64(d.fromObserver)/seconds, size(float64(d.bytesFromObserver)/seconds))
}

func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Millisecond)
}

func size(bytes float64) string {
	switch {
	case bytes >= 10<<20:
		return fmt.Sprintf("%.0f MiB", bytes/(1<<20))
	case bytes >= 10<<10:
		return fmt.Sprintf("%.0f KiB", bytes/(1<<10))
	}
	return fmt.Sprintf("%.0f B", bytes)
}
