package fleet

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet/internal/link"
)

// node is what all parts of a fleet have of this host.
type node struct {
	host *host.Host
	nc   *nats.Conn
	own  bool // nc is to be closed
	self *link.Instance
	log  hclog.Logger
	now  func() time.Time

	life     context.Context
	end      context.CancelFunc
	running  sync.WaitGroup
	settings atomic.Pointer[configured]
	lostBy   atomic.Value // the error with which the connection was lost, a string; empty: there is another one
	bell     bell
}

// newNode returns a host that has a connection.
func newNode(h *host.Host, c *Config) (*node, error) {
	self, err := link.NewInstance()
	if err != nil {
		return nil, err
	}
	n := &node{
		host: h, self: self, log: c.Log, now: c.Now, nc: c.Conn, own: c.Conn == nil, bell: bell{next: make(chan struct{})},
	}
	if n.log == nil {
		n.log = hclog.NewNullLogger()
	}
	if n.now == nil {
		n.now = time.Now
	}
	n.settings.Store(configure(*c, 1))
	n.life, n.end = context.WithCancel(context.Background())
	if n.own {
		if err = n.dial(c); err != nil {
			n.end()
			return nil, err
		}
	}
	return n, nil
}

func (n *node) background(run func()) {
	n.running.Add(1)
	go func() {
		defer n.running.Done()
		run()
	}()
}

// pause waits, and returns false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// signal tells a goroutine that there is something to look at: several before it looks are one.
type signal chan struct{}

func newSignal() signal { return make(signal, 1) }

func (s signal) send() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// bell wakes who waits for a change of hosts, lines or the connection, or for the end of calls.
type bell struct {
	mu   sync.Mutex
	next chan struct{} // closed and replaced when it rings
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.next)
	b.next = make(chan struct{})
}

// rung returns a channel that is closed when the bell rings.
func (b *bell) rung() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.next
}

// wait waits until ok returns true, for which the bell rings, and returns false if ctx ended first.
func (b *bell) wait(ctx context.Context, ok func() bool) bool {
	for {
		rung := b.rung()
		if ok() {
			return true
		}
		select {
		case <-rung:
		case <-ctx.Done():
			return false
		}
	}
}

// configured is a configuration in use.
type configured struct {
	Config

	epoch uint64
	known map[string]namedPeer // the hosts that are, by key: also this one, without a name
}

// namedPeer is a host that is known, with what counts for it.
type namedPeer struct {
	Peer

	name string
}

func configure(c Config, epoch uint64) *configured {
	own := Peer{Key: c.Key.public, Share: c.Share, Mount: c.Mount, Admin: true}
	out := &configured{Config: c, epoch: epoch, known: map[string]namedPeer{own.Key: {Peer: own}}}
	for name, p := range c.Peers {
		if p.Share == nil {
			p.Share = c.Share
		}
		if p.Mount == nil {
			p.Mount = c.Mount
		}
		for _, key := range p.known() {
			out.known[key] = namedPeer{p, name}
		}
	}
	return out
}
