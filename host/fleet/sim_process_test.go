package fleet

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/toolhost/toolhost/internal/test/require"
)

// The simulation has three processes: that of the test with the NATS server, and this binary twice with
// simVariable set, as the observer and as all simulated hosts.
const simVariable = "TOOLHOST_TEST_FLEET_SIMULATION"

// simSpec is what such a process is told.
type simSpec struct {
	Role       string // "observer" or "hosts"
	URL        string
	KeyFile    string
	Hosts      int
	Tools      int
	Properties int
	Same       bool // all hosts have the same tools
}

// simCommand is a line that such a process is told, and simReply what it answers.
type (
	simCommand struct {
		Do       string
		Count    int           `json:",omitempty"`
		Tools    float64       `json:",omitempty"` // changes a second
		Hosts    float64       `json:",omitempty"` // departures a second
		Duration time.Duration `json:",omitempty"`
		Event    *simEvent     `json:",omitempty"`
	}
	simReply struct {
		Event *simEvent `json:",omitempty"` // comes in addition to the answer
		Done  string    `json:",omitempty"` // the command that is answered
		Error string    `json:",omitempty"`

		Usage   simUsage
		Tools   int // in the registry, or shared
		State   string
		Latency map[string][]time.Duration `json:",omitempty"`
		Missed  int                        // changes that another one has overtaken
		At      time.Time
		Mounted time.Time // when the fleet had everything, of which the registry was told then
	}
)

// simEvent is a change at a host: the tools have at least this version from then on; 0: they are gone.
type simEvent struct {
	Kind    string
	Tools   []string
	Version int
	At      time.Time
}

// simUsage is what a process uses.
type simUsage struct {
	CPU        time.Duration
	Heap       uint64
	Stacks     uint64
	Goroutines int
	Allocated  uint64
}

// simMeasure measures this process; thorough: after a collection.
func simMeasure(thorough bool) simUsage {
	if thorough {
		runtime.GC()
		debug.FreeOSMemory()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return simUsage{CPU: cpuTime(), Heap: m.HeapAlloc, Stacks: m.StackInuse, Goroutines: runtime.NumGoroutine(), Allocated: m.TotalAlloc}
}

// IsSimulated reports whether this process is one of a simulation, which has ended then.
func IsSimulated() bool {
	text := os.Getenv(simVariable)
	if text == "" {
		return false
	}
	var spec simSpec
	err := json.Unmarshal([]byte(text), &spec)
	if err == nil {
		commands := make(chan simCommand)
		go func() {
			defer close(commands)
			in := json.NewDecoder(os.Stdin)
			for c := (simCommand{}); in.Decode(&c) == nil; c = (simCommand{}) {
				commands <- c
			}
		}()
		out := json.NewEncoder(os.Stdout)
		if spec.Role == "observer" {
			err = runObserver(spec, commands, out)
		} else {
			err = runHosts(spec, commands, out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// simProcess is a process of the simulation.
type simProcess struct {
	t       testing.TB
	mu      sync.Mutex
	in      *json.Encoder
	replies chan simReply
	events  func(*simEvent)
}

func startSimulated(t testing.TB, spec simSpec) *simProcess {
	t.Helper()
	text := require.Must(json.Marshal(spec))(t)
	cmd := exec.Command(os.Args[0]) //nolint:gosec,noctx // this binary
	cmd.Env = append(os.Environ(), simVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	stdin := require.Must(cmd.StdinPipe())(t)
	stdout := require.Must(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	p := &simProcess{t: t, in: json.NewEncoder(stdin), replies: make(chan simReply, 1)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(p.replies)
		out := json.NewDecoder(bufio.NewReader(stdout))
		for r := (simReply{}); out.Decode(&r) == nil; r = (simReply{}) {
			if r.Event != nil {
				p.events(r.Event)
				continue
			}
			p.replies <- r
		}
	}()
	t.Cleanup(func() {
		_ = stdin.Close()
		for range p.replies { // of what has failed
		}
		<-read
		if err := cmd.Wait(); err != nil {
			t.Errorf("the process of the %s: %v", spec.Role, err)
		}
	})
	return p
}

// tell sends a command.
func (p *simProcess) tell(c simCommand) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.in.Encode(c); err != nil {
		p.t.Error(err)
	}
}

// ask sends a command and waits for its answer.
func (p *simProcess) ask(c simCommand) simReply {
	p.t.Helper()
	p.tell(c)
	return p.answer(c.Do)
}

func (p *simProcess) answer(to string) simReply {
	p.t.Helper()
	select {
	case r, open := <-p.replies:
		if !open || r.Done != to || r.Error != "" {
			p.t.Fatalf("%s: %+v", to, r)
		}
		return r
	case <-time.After(*simPatience):
		p.t.Fatalf("%s has no answer after %v", to, *simPatience)
		return simReply{}
	}
}

// simServer is the NATS server of the simulation.
type simServer struct {
	*server.Server

	options *server.Options
}

func (s *simServer) start(t testing.TB, key string) {
	t.Helper()
	if s.options == nil {
		s.options = &server.Options{
			Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, Nkeys: []*server.NkeyUser{{Nkey: key}},
			AuthTimeout: 30,
		}
	}
	made := require.Must(server.NewServer(s.options))(t)
	s.Server = made
	made.Start()
	if !made.ReadyForConnections(20 * time.Second) {
		t.Fatal("the NATS server does not start")
	}
	s.options.Port = made.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // it listens on TCP
}

// traffic is what the server has counted.
type traffic struct {
	at time.Time
	// From and to the observer, and all clients.
	fromObserver, toObserver, all                int64
	bytesFromObserver, bytesToObserver, allBytes int64
	slow                                         int64
	subscriptions                                uint32
}

func (s *simServer) traffic(t testing.TB) traffic {
	t.Helper()
	all := require.Must(s.Varz(nil))(t)
	out := traffic{
		at: time.Now(), all: all.InMsgs, allBytes: all.InBytes, slow: all.SlowConsumers, subscriptions: all.Subscriptions,
	}
	conns := require.Must(s.Connz(&server.ConnzOptions{Limit: 1 << 16}))(t)
	for _, c := range conns.Conns {
		if c.Name == "toolhost "+observerName {
			out.fromObserver, out.bytesFromObserver = c.InMsgs, c.InBytes
			out.toObserver, out.bytesToObserver = c.OutMsgs, c.OutBytes
		}
	}
	return out
}
