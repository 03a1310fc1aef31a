package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// simHost is a simulated host. Its connection, announcements, links, index and definitions are those of a real one. It
// has no registry, and it does not hear of other hosts: a thousand that did would be a million deliveries a
// second.
type simHost struct {
	*Fleet

	name     string
	mu       sync.Mutex
	versions map[string]int // of its tools, by name
	made     int            // tools that it has had
}

// simHosts are all of them.
type simHosts struct {
	spec   simSpec
	key    Key
	idle   *host.Host // without tools; that of each
	out    *json.Encoder
	outMu  sync.Mutex
	all    []*simHost // nil: it has left
	starts []int      // of each
}

// runHosts runs the simulated hosts.
func runHosts(spec simSpec, commands <-chan simCommand, out *json.Encoder) error {
	key, err := KeyFile(spec.KeyFile)
	if err != nil {
		return err
	}
	idle, err := host.New()
	if err != nil {
		return err
	}
	s := &simHosts{spec: spec, key: key, idle: idle, out: out, all: make([]*simHost, spec.Hosts), starts: make([]int, spec.Hosts)}
	for c := range commands {
		r := simReply{Done: c.Do}
		switch c.Do {
		case "join":
			err = s.each(s.join)
		case "churn":
			err = s.churn(c)
		case "usage":
			r.Usage = simMeasure(false)
		}
		r.At, r.Tools, r.State = time.Now(), s.count(), s.state()
		if err != nil {
			r.Error = err.Error()
		}
		s.say(r)
	}
	return errors.Join(s.each(s.leave), idle.Close(context.Background()))
}

func (s *simHosts) say(r simReply) {
	s.outMu.Lock()
	defer s.outMu.Unlock()
	_ = s.out.Encode(r)
}

// each does something with all hosts, a few at a time.
func (s *simHosts) each(do func(int) error) error {
	errs := make([]error, len(s.all))
	var group sync.WaitGroup
	slots := make(chan struct{}, 16)
	for i := range s.all {
		group.Go(func() {
			slots <- struct{}{}
			errs[i] = do(i)
			<-slots
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// join starts a host, or starts it again.
func (s *simHosts) join(i int) error {
	s.starts[i]++ // a host that comes back has others
	h := &simHost{name: fmt.Sprintf("h%04d", i), versions: map[string]int{}}
	c := Config{URL: s.spec.URL, Key: s.key, Name: h.name, Share: []string{"*"}}
	if err := c.Check(); err != nil {
		return err
	}
	f, err := newFleet(s.idle, &c)
	if err != nil {
		return err
	}
	h.Fleet = f
	f.others.Store(int32(s.spec.Hosts)) //nolint:gosec // far fewer
	for range s.spec.Tools {
		h.versions[h.newTool(s.spec.Same)] = s.starts[i]
	}
	f.catalogue.Store(h.gather(s.spec.Properties, 2))
	err = f.offer(func([]byte) {}, func(data []byte, respond func([]byte) error) {
		if o, a := f.checkOpening(data, respond); o != nil {
			f.inbound.accept(o, a, respond)
		}
	})
	if err != nil {
		return err
	}
	states := f.nc.StatusChanged(nats.CONNECTED, nats.RECONNECTING, nats.CLOSED)
	f.background(func() {
		defer f.nc.RemoveStatusListener(states)
		for {
			select {
			case state := <-states:
				if state == nats.CONNECTED {
					f.announces.send()
				} else {
					f.directory.disconnected()
					f.inbound.disconnected()
				}
			case <-f.life.Done():
				return
			}
		}
	})
	f.sayHello()
	f.background(f.announce)
	s.all[i] = h
	return nil
}

// leave has a host leave, as a daemon does that is stopped.
func (s *simHosts) leave(i int) error {
	h := s.all[i]
	if h == nil {
		return nil
	}
	s.all[i] = nil
	return h.Close(context.Background())
}

// kill ends a host without a word.
func (s *simHosts) kill(i int) error {
	s.all[i].nc.Close()
	return s.leave(i)
}

func (h *simHost) newTool(same bool) string {
	h.made++
	if same {
		return fmt.Sprintf("all.tool-%d", h.made)
	}
	return fmt.Sprintf("%s.tool-%d", h.name, h.made)
}

// gather makes the host's catalogue.
func (h *simHost) gather(properties int, revision uint64) *catalogue {
	c := &catalogue{revision: revision, tools: map[string]shared{}, texts: map[string]json.RawMessage{}}
	for name, version := range h.versions {
		c.names = append(c.names, name)
		c.add(simDefinition(name, version, properties), shared{Plugin: "sim", Version: fmt.Sprintf("1.0.%d", version)})
	}
	slices.Sort(c.names)
	return c
}

func simDefinition(name string, version, properties int) *tool.Definition {
	schema := `{"type":"object"`
	for i := range properties {
		schema += either(i == 0, `,"properties":{`, ",") +
			fmt.Sprintf(`"argument_%d":{"type":"string","description":"What the tool does it with, number %d."}`, i, i)
	}
	return &tool.Definition{
		Name: name, Safety: tool.Safe, Description: fmt.Sprintf("%s is a tool of a simulation. It has version %d", name, version),
		InputSchema: tool.Schema(schema + either(properties > 0, "}}", "}")),
	}
}

func either(which bool, yes, no string) string {
	if which {
		return yes
	}
	return no
}

// simVersion returns the version in a description.
func simVersion(description string) int {
	var version int
	_, _ = fmt.Sscanf(description[strings.LastIndexByte(description, ' ')+1:], "%d", &version)
	return version
}

// change changes one tool of a host, and says so.
func (s *simHosts) change(h *simHost) {
	h.mu.Lock()
	defer h.mu.Unlock()
	names := make([]string, 0, len(h.versions))
	for name := range h.versions {
		names = append(names, name)
	}
	e := &simEvent{At: time.Now()}
	switch kind := rand.IntN(3); { //nolint:gosec // not a secret
	case kind == 0 || len(names) < 2:
		e.Kind, e.Tools, e.Version = "tool added", []string{h.newTool(false)}, 1
	case kind == 1:
		e.Kind, e.Tools = "tool removed", []string{names[0]}
	default:
		e.Kind, e.Tools, e.Version = "tool changed", []string{names[0]}, h.versions[names[0]]+1
	}
	if e.Version == 0 {
		delete(h.versions, e.Tools[0])
	} else {
		h.versions[e.Tools[0]] = e.Version
	}
	h.catalogue.Store(h.gather(s.spec.Properties, h.catalogue.Load().revision+1))
	h.announces.send()
	s.say(simReply{Event: e})
}

// churn changes tools of nine tenths of the hosts, and has hosts of the last tenth leave, be killed and come back.
func (s *simHosts) churn(c simCommand) error {
	movers := max(len(s.all)/10, 1)
	settled := s.all[:len(s.all)-movers]
	ctx, cancel := context.WithTimeout(context.Background(), c.Duration)
	defer cancel()
	var group sync.WaitGroup
	var moved error
	group.Go(func() { each(ctx, c.Tools, func(int) { s.change(settled[rand.IntN(len(settled))]) }) }) //nolint:gosec // not a secret
	group.Go(func() {
		each(ctx, c.Hosts, func(n int) { moved = errors.Join(moved, s.move(len(settled)+n%movers, n)) })
	})
	group.Wait()
	for i := range s.all {
		if s.all[i] == nil {
			moved = errors.Join(moved, s.move(i, 0))
		}
	}
	return moved
}

// each does something so many times a second.
func each(ctx context.Context, rate float64, do func(n int)) {
	if rate <= 0 {
		return
	}
	tick := time.NewTicker(time.Duration(float64(time.Second) / rate))
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
			do(n)
		case <-ctx.Done():
			return
		}
	}
}

// move has a host leave, or be killed, or come back.
func (s *simHosts) move(i, n int) error {
	h := s.all[i]
	if h == nil {
		e := &simEvent{Kind: "host came back", Version: s.starts[i] + 1, At: time.Now()}
		err := s.join(i)
		e.Tools = s.all[i].catalogue.Load().names
		s.say(simReply{Event: e})
		return err
	}
	e := &simEvent{Kind: "host left", Tools: h.catalogue.Load().names, At: time.Now()}
	end := s.leave
	if n%2 == 1 {
		e.Kind, end = "host killed", s.kill
	}
	// It has ended for others before it has waited for them.
	s.say(simReply{Event: e})
	return end(i)
}

func (s *simHosts) count() int {
	n := 0
	for _, h := range s.all {
		if h != nil {
			n += len(h.catalogue.Load().names)
		}
	}
	return n
}

// state returns a digest of the names and versions of all tools.
func (s *simHosts) state() string {
	all := map[string]int{}
	for _, h := range s.all {
		if h != nil {
			for name, version := range h.versions {
				all[name] = version
			}
		}
	}
	return simState(all)
}

func simState(versions map[string]int) string {
	lines := make([]string, 0, len(versions))
	for name, version := range versions {
		lines = append(lines, fmt.Sprintf("%s %d\n", name, version))
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(sum[:8])
}
