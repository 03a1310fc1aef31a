package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host"
)

const observerName = "observer"

// simObserver is a real host that mounts everything.
type simObserver struct {
	spec    simSpec
	host    *host.Host
	fleet   *Fleet
	out     *json.Encoder
	pending map[string]*simEvent // by the first tool
	missed  int
	latency map[string][]time.Duration
	await   int       // lines and tools are waited for; 0: none
	mounted time.Time // when the fleet had them
	awaited func()    // ends what follows the fleet
	settle  bool      // the end of all events is waited for
}

// runObserver runs the observer.
func runObserver(spec simSpec, commands <-chan simCommand, out *json.Encoder) error {
	h, err := host.New(host.WithLogger(hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: os.Stderr})))
	if err != nil {
		return err
	}
	o := &simObserver{spec: spec, host: h, out: out, pending: map[string]*simEvent{}, latency: map[string][]time.Duration{}}
	changes := h.Changes()
	signals := make(chan struct{}, 1)
	for open := true; open; {
		var c simCommand
		select {
		case c, open = <-commands:
		case <-changes:
		case <-signals: // of hosts and lines
		}
		r := simReply{Done: c.Do, At: time.Now()}
		switch c.Do {
		case "":
			r.Done = ""
		case "join":
			if err := o.join(); err != nil {
				return err
			}
			r.At = time.Now()
		case "await":
			o.await, o.mounted, r.Done = c.Count, time.Time{}, ""
			var ctx context.Context
			ctx, o.awaited = context.WithCancel(o.fleet.life)
			go o.follow(ctx, signals)
		case "event":
			key := c.Event.Tools[0]
			if o.pending[key] != nil {
				o.missed++
			}
			o.pending[key], r.Done = c.Event, ""
		case "settle":
			o.settle, r.Done = true, ""
		case "usage":
			r.Usage = simMeasure(c.Count > 0)
		case "state":
			r.State = o.state()
		}
		o.look(r.At)
		if r.Done != "" {
			r.Tools = h.Len()
			if err := out.Encode(r); err != nil {
				return err
			}
		}
	}
	if o.fleet != nil {
		err = o.fleet.Close(context.Background())
	}
	return errors.Join(err, h.Close(context.Background()))
}

func (o *simObserver) join() error {
	key, err := KeyFile(o.spec.KeyFile)
	if err != nil {
		return err
	}
	o.fleet, err = Join(context.Background(), o.host, Config{URL: o.spec.URL, Key: key, Name: observerName, Mount: []string{"*"}})
	return err
}

// follow passes on the fleet's signals.
func (o *simObserver) follow(ctx context.Context, signals chan<- struct{}) {
	o.fleet.bell.wait(ctx, func() bool {
		select {
		case signals <- struct{}{}:
		default:
		}
		return false
	})
}

// look looks at what is waited for.
func (o *simObserver) look(now time.Time) {
	if o.await > 0 {
		if o.mounted.IsZero() && o.whole(o.await) {
			o.mounted = now
		}
		if !o.mounted.IsZero() && o.host.Len() == o.tools() {
			_ = o.out.Encode(simReply{Done: "await", At: now, Mounted: o.mounted, Tools: o.host.Len()})
			o.await = 0
			o.awaited()
		}
	}
	for key, e := range o.pending {
		if o.sees(e) {
			delete(o.pending, key)
			o.latency[e.Kind] = append(o.latency[e.Kind], now.Sub(e.At))
		}
	}
	if o.settle && len(o.pending) == 0 {
		_ = o.out.Encode(simReply{Done: "settle", At: now, Tools: o.host.Len(), Latency: o.latency, Missed: o.missed})
		o.settle, o.missed, o.latency = false, 0, map[string][]time.Duration{}
	}
}

// whole reports whether so many hosts have a line and have been read.
func (o *simObserver) whole(hosts int) bool {
	f := o.fleet
	f.mounts.mu.Lock()
	defer f.mounts.mu.Unlock()
	f.directory.mu.Lock()
	defer f.directory.mu.Unlock()
	n := 0
	for _, m := range f.members {
		if m.linked() && m.have.revision == m.said.Revision {
			n++
		}
	}
	return n == hosts
}

// tools is how many tools the registry has when it knows of all changes; -1: it is about to be told of some.
func (o *simObserver) tools() int {
	o.fleet.fitAll()
	o.fleet.mounts.mu.Lock()
	defer o.fleet.mounts.mu.Unlock()
	if o.fleet.unnotified {
		return -1
	}
	return len(o.fleet.tools)
}

// sees reports whether the registry has the change.
func (o *simObserver) sees(e *simEvent) bool {
	for _, name := range e.Tools {
		t, there := o.host.Get(name)
		if there != (e.Version > 0) || there && simVersion(t.Description) < e.Version {
			return false
		}
	}
	return true
}

func (o *simObserver) state() string {
	all := map[string]int{}
	for _, t := range o.host.Tools(host.Filter{}) {
		all[t.Name] = simVersion(t.Description)
	}
	return simState(all)
}
