package pluginrun

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/egress"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// box is what the host does for a process in its sandbox as long as the process runs: it answers
// the system calls that are refused, and connects to the hosts that were granted.
type box struct {
	end     context.CancelFunc
	proxy   *egress.Proxy // nil: there is none
	workers sync.WaitGroup
	// empty is closed when nothing is left that the filter of its system calls is on; nil: the host
	// does not learn of that.
	empty chan struct{}
}

// openBox begins. What the stage sent is in the order of the plan's steps, and is closed when it
// is not needed any more.
func openBox(c *command, denied func(what string)) (b *box, err error) {
	plan, received := c.plan, c.received
	ctx, cancel := context.WithCancel(context.Background())
	b = &box{end: cancel}
	defer func() {
		if err != nil {
			for _, f := range received {
				_ = f.Close()
			}
			b.close()
			b.shut()
		}
	}()
	take := func(wanted bool) *os.File {
		if !wanted || len(received) == 0 {
			return nil
		}
		f := received[0]
		received = received[1:]
		return f
	}
	if f := take(plan.Proxy); f != nil {
		if err := b.connect(f, plan.Profile.Net.List, c.name, denied); err != nil {
			return b, err
		}
	}
	for _, port := range plan.Forward {
		if f := take(true); f != nil {
			if err := b.serve(f, func(l net.Listener) error { return b.proxy.Forward(l, port) }); err != nil {
				return b, err
			}
		}
	}
	if f := take(plan.Notify); f != nil {
		b.empty = make(chan struct{})
		go func() {
			defer close(b.empty)
			if plan.Traced {
				sandbox.Observe(ctx, f, c.trace.Used)
				return
			}
			sandbox.Refuse(ctx, f, denied)
		}()
	}
	if l := c.listener; l != nil {
		c.listener = nil
		b.proxy = egress.New(nil, egress.Options{Plugin: c.name, All: true, Report: c.trace.Reached})
		b.workers.Go(func() { _ = b.proxy.Serve(l) })
	}
	return b, nil
}

// serve serves a listener in the network of the process.
func (b *box) serve(f *os.File, by func(net.Listener) error) error {
	l, err := net.FileListener(f)
	_ = f.Close()
	if err == nil {
		b.workers.Go(func() { _ = by(l) }) // it ends with the process, or with close
	}
	return err
}

// connect makes the proxy, which serves a listener in the network of the process.
func (b *box) connect(f *os.File, hosts []string, plugin string, denied func(what string)) error {
	patterns := make([]egress.Pattern, 0, len(hosts))
	for _, host := range hosts {
		p, err := egress.ParsePattern(host)
		if err != nil {
			return errors.Join(err, f.Close())
		}
		patterns = append(patterns, p)
	}
	b.proxy = egress.New(patterns, egress.Options{Plugin: plugin, Report: func(e egress.Event) {
		if e.Outcome == egress.Refused && e.Target != "" {
			denied("net: " + e.Target)
		}
	}})
	return b.serve(f, b.proxy.Serve)
}

// close ends what the host does for the process, which has ended, but that it refuses system calls to
// what is left of it: what has no host that answers could have another one, of its own.
func (b *box) close() {
	if b.proxy != nil {
		b.proxy.Close()
	}
	b.workers.Wait()
}

// isEmpty reports whether nothing is left of the process within d, or ctx has ended. Where the host does
// not learn of that, it takes it for granted.
func (b *box) isEmpty(ctx context.Context, d time.Duration) bool {
	if b.empty == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	select {
	case <-b.empty:
		return true
	case <-ctx.Done():
		return !errors.Is(ctx.Err(), context.DeadlineExceeded)
	}
}

// shut ends all that the host does for the process, and for what is left of it.
func (b *box) shut() {
	b.end()
	if b.empty != nil {
		<-b.empty
	}
}

// shutBox ends what the host does for the sandbox, unless something of the run is left that could not
// be ended: that has to be refused on.
func (p *process) shutBox() {
	if p.box == nil {
		return
	}
	p.box.close()
	if p.cmd.trace == nil && p.survived != nil && !p.box.isEmpty(context.Background(), endGrace) {
		p.survived(p)
		return
	}
	p.box.shut()
}

// maxDenials bounds the kinds of denials that are kept: hosts are named by the plugin.
const maxDenials = 64

// denials counts what the sandbox of a plugin refuses.
type denials struct {
	tell  func(text string) // what is denied for the first time, and then for each tenth power
	usage *Usage            // counts all

	mu    sync.Mutex
	kinds []plugin.Denial
}

func newDenials(plugin string, log hclog.Logger, to *journal.Journal, usage *Usage) *denials {
	return &denials{usage: usage, tell: func(text string) {
		text = sanitize.Line(text, 300)
		log.Warn("the sandbox of plugin " + plugin + " denies: " + text)
		to.Tell(hclog.Warn.String(), journal.Denied, "the sandbox denies: "+text)
	}}
}

func (d *denials) add(what string) {
	d.usage.refused.Add(1)
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.kinds, func(k plugin.Denial) bool { return k.What == what })
	if i < 0 && len(d.kinds) == maxDenials {
		return
	}
	if i < 0 {
		i = len(d.kinds)
		d.kinds = append(d.kinds, plugin.Denial{What: what})
	}
	d.kinds[i].Count++
	d.kinds[i].Last = time.Now()
	switch n := d.kinds[i].Count; {
	case n == 1:
		d.tell(what)
	case isTenthPower(n):
		d.tell(fmt.Sprintf("%s, %d times", what, n))
	}
}

func isTenthPower(n int64) bool {
	for ; n > 1 && n%10 == 0; n /= 10 {
	}
	return n == 1
}

// list returns what was denied, in the order of the first time.
func (d *denials) list() []plugin.Denial {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.kinds)
}
