package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/internal/embedded"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// fleetSoak is a run with three hosts: this process, which survives, has the NATS server and makes the
// calls, and two others that run them and are disturbed, one at a time.
type fleetSoak struct {
	settings
	dir      string
	progress io.Writer
	begin    time.Time

	key    fleet.Key
	server *embedded.Server
	port   int
	host   *host.Host
	fleet  *fleet.Fleet
	nodes  []*node

	all    atomic.Int64 // calls
	report FleetReport
}

// disturbEvery is the mean pause between two disturbances.
const disturbEvery = time.Second

// runFleet soaks, and judges.
func runFleet(ctx context.Context, s settings, progress io.Writer) (_ *FleetReport, err error) {
	dir, err := os.MkdirTemp("", "soak-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	k := &fleetSoak{settings: s, dir: dir, progress: progress}
	if k.duration == 0 {
		k.duration = time.Minute
	}
	defer k.close()
	if err := k.open(ctx); err != nil {
		return nil, err
	}
	k.begin = time.Now()
	ctx, cancel := context.WithTimeout(ctx, k.duration)
	defer cancel()
	callers := make([]*caller, k.callers)
	var calling, beside sync.WaitGroup
	for i := range callers {
		callers[i] = &caller{number: i, all: &k.all, codes: map[tool.Code]int{}, made: make([]made, 0, int(k.duration/(maxWork/4))+1024)}
		calling.Go(func() { k.call(ctx, callers[i]) })
	}
	beside.Go(func() { k.sample(ctx) })
	disturbed := k.disturb(ctx)
	beside.Wait()
	done := make(chan struct{})
	go func() {
		calling.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(2 * patience):
		_ = pprof.Lookup("goroutine").WriteTo(progress, 1)
	}
	if disturbed != nil {
		return nil, disturbed
	}
	k.report.Report = Report{Callers: k.callers, Took: tool.Duration(time.Since(k.begin))}
	ran := runs{}
	for _, n := range k.nodes {
		n.end()
		if err := ran.read(ledgerOf(k.dir, n.name)); err != nil {
			return nil, err
		}
	}
	for _, c := range callers {
		k.report.add(c, ran)
	}
	k.report.judge()
	return &k.report, nil
}

func (k *fleetSoak) open(ctx context.Context) (err error) {
	if k.key, err = fleet.KeyFile(filepath.Join(k.dir, "fleet.key")); err != nil {
		return err
	}
	if err := k.serve(); err != nil {
		return err
	}
	for _, name := range []string{"b", "c"} {
		n := &node{name: name, spec: nodeSpec{k.server.URL(), k.dir, name}}
		k.nodes = append(k.nodes, n)
		if err := n.start(); err != nil {
			return err
		}
	}
	if k.host, err = host.New(); err != nil {
		return err
	}
	k.fleet, err = fleet.Join(ctx, k.host, fleet.Config{URL: k.server.URL(), Key: k.key, Name: "a", Mount: []string{"*"}})
	if err != nil {
		return err
	}
	return k.whole(ctx)
}

func (k *fleetSoak) close() {
	for _, n := range k.nodes {
		n.end()
	}
	if k.fleet != nil {
		_ = k.fleet.Close(context.Background())
	}
	if k.host != nil {
		_ = k.host.Close(context.Background())
	}
	if k.server != nil {
		_ = k.server.Close(context.Background())
	}
}

// serve starts the server, on the port that it had.
func (k *fleetSoak) serve() (err error) {
	if k.server, err = embedded.Start(embedded.Config{Keys: []string{k.key.Public()}, Port: k.port}); err != nil {
		return err
	}
	at, err := url.Parse(k.server.URL())
	if err == nil {
		k.port, err = strconv.Atoi(at.Port())
	}
	return err
}

// whole waits until both hosts take calls.
func (k *fleetSoak) whole(ctx context.Context) error {
	for begin := time.Now(); ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		ready := 0
		for _, h := range k.fleet.Hosts()[1:] {
			if h.State == fleet.HostReady && h.Tools == 2 {
				ready++
			}
		}
		if _, there := k.host.Get(once); there && ready == len(k.nodes) {
			return nil
		}
		if time.Since(begin) > patience {
			return fmt.Errorf("the fleet is not whole after %v: %+v", patience, k.fleet.Hosts())
		}
	}
	return nil
}

// call makes one call after the other.
func (k *fleetSoak) call(ctx context.Context, c *caller) {
	defer c.over.Store(true)
	session := k.host.Session()
	defer session.Close(context.Background()) //nolint:errcheck // nothing is left
	for ctx.Err() == nil {
		m := made{idempotent: rand.N(2) == 0} //nolint:gosec // no secret
		name := map[bool]string{true: again, false: once}[m.idempotent]
		id := callID(c.number, len(c.made))
		limited, cancel := context.WithTimeout(context.Background(), patience)
		begin := time.Now()
		_, res, err := session.CallWith(limited, tool.Call{
			ID: id, Name: name, Arguments: fmt.Appendf(nil, `{"us":%d}`, rand.N(maxWork+1).Microseconds()), //nolint:gosec // no secret
		}, host.CallOptions{})
		cancel()
		c.slowest = max(c.slowest, time.Since(begin))
		if e := new(tool.Error); errors.As(err, &e) && e.Plugin == "" && e.Code == tool.CodeUnavailable {
			named := *e
			named.Plugin, err = fleet.Owner, &named // another host's word
		}
		m.fate = c.judge(id, res, err)
		c.made = append(c.made, m)
		c.all.Add(1)
	}
}

// disturb disturbs one host, or the server, at a time, until ctx ends.
func (k *fleetSoak) disturb(ctx context.Context) error {
	kinds := []struct {
		name string
		run  func(context.Context, *node) error
	}{
		{"killed", func(_ context.Context, n *node) error { n.kill(); return n.start() }},
		{"killed for a while", func(ctx context.Context, n *node) error {
			n.kill()
			deadline.Sleep(ctx, 2*time.Second)
			return n.start()
		}},
		{"left", func(_ context.Context, n *node) error { n.end(); return n.start() }},
		{"stopped for a moment", func(ctx context.Context, n *node) error { return n.stop(ctx, time.Second) }},
		{"stopped until it is gone", func(ctx context.Context, n *node) error { return n.stop(ctx, 4*time.Second) }},
		{"drained", func(ctx context.Context, n *node) error {
			err := k.drain(ctx, n, true)
			deadline.Sleep(ctx, 500*time.Millisecond)
			return errors.Join(err, k.drain(ctx, n, false))
		}},
		{"server restarted", func(context.Context, *node) error {
			if err := k.server.Close(context.Background()); err != nil {
				return err
			}
			return k.serve()
		}},
	}
	k.report.Disturbed = map[string]int{}
	said := time.Now()
	for deadline.Sleep(ctx, time.Duration(min(rand.ExpFloat64(), 3)*float64(disturbEvery))) { //nolint:gosec // no secret
		kind, n := kinds[rand.IntN(len(kinds))], k.nodes[rand.IntN(len(k.nodes))] //nolint:gosec // no secret
		if err := kind.run(ctx, n); err != nil && ctx.Err() == nil {
			return fmt.Errorf("%s, %s: %w", n.name, kind.name, err)
		}
		k.report.Disturbed[kind.name]++
		if err := k.whole(ctx); err != nil {
			return fmt.Errorf("after %s was %s: %w", n.name, kind.name, err)
		}
		if time.Since(said) >= 5*time.Second {
			said = time.Now()
			_, _ = fmt.Fprintf(k.progress, "%6v  %d calls, %v\n", time.Since(k.begin).Round(time.Second), k.all.Load(), k.report.Disturbed)
		}
	}
	return nil
}

// drain tries until the host is reached: this one may not have noticed yet that the server was restarted.
func (k *fleetSoak) drain(ctx context.Context, n *node, on bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := k.fleet.Drain(ctx, n.name, on)
		if code := tool.CodeOf(err); code != tool.CodeUnavailable && code != tool.CodeNotFound || !deadline.Sleep(ctx, 10*time.Millisecond) {
			return err
		}
	}
}

// sample takes what this process has, until ctx ends.
func (k *fleetSoak) sample(ctx context.Context) {
	every := min(5*time.Second, k.duration/20)
	for deadline.Sleep(ctx, every) {
		k.report.Samples = append(k.report.Samples, measure())
	}
}
