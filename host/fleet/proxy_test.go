package fleet_test

import (
	"bufio"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/host/fleet"
)

// proxy stands between hosts of a bubble and their NATS server, and can keep messages from arriving, as a
// server does that has no room for them, or a network that is cut.
type proxy struct {
	server nats.InProcessConnProvider
	all    sync.WaitGroup

	mu    sync.Mutex
	rule  func(toServer bool, subject string) bool // reports whether a message is lost; nil: none is
	conns []net.Conn
	over  bool // there are no more connections
}

// proxied returns what is between the hosts that are at it and the site's server.
func (s *site) proxied(t testing.TB) *proxy {
	t.Helper()
	p := &proxy{server: s.pipes}
	t.Cleanup(func() {
		p.cut()
		p.all.Wait()
	})
	return p
}

// at has a host connect through a proxy.
func at(p *proxy) func(*fleet.Config) {
	return func(c *fleet.Config) { c.Options = []nats.Option{nats.InProcessServer(p)} }
}

// InProcessConn implements [nats.InProcessConnProvider].
func (p *proxy) InProcessConn() (net.Conn, error) {
	server, err := p.server.InProcessConn()
	if err != nil {
		return nil, err
	}
	client, end := net.Pipe()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		_ = server.Close()
		return nil, net.ErrClosed
	}
	p.conns = append(p.conns, end, server)
	p.all.Go(func() { p.copy(server, end, true) })
	p.all.Go(func() { p.copy(end, server, false) })
	return client, nil
}

// lose sets which messages are lost from now on; nil: none are.
func (p *proxy) lose(rule func(toServer bool, subject string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rule = rule
}

// cut ends all connections. New ones are made at once.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// end ends them for good, as the death of a host does that is at the proxy.
func (p *proxy) end() {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	p.cut()
}

// copy passes on what one side sends, operation by operation.
func (p *proxy) copy(to, from net.Conn, toServer bool) {
	defer to.Close()   //nolint:errcheck // it only ends
	defer from.Close() //nolint:errcheck // it only ends
	in, out := bufio.NewReader(from), bufio.NewWriter(to)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		var payload []byte
		subject := ""
		if words := strings.Fields(line); len(words) > 2 {
			switch strings.ToUpper(words[0]) {
			case "PUB", "HPUB", "MSG", "HMSG":
				size, err := strconv.Atoi(words[len(words)-1])
				if err != nil {
					return
				}
				subject, payload = words[1], make([]byte, size+len("\r\n"))
				if _, err := io.ReadFull(in, payload); err != nil {
					return
				}
			}
		}
		p.mu.Lock()
		lost := subject != "" && p.rule != nil && p.rule(toServer, subject)
		p.mu.Unlock()
		if lost {
			continue
		}
		_, _ = out.WriteString(line)
		_, _ = out.Write(payload)
		if in.Buffered() == 0 && out.Flush() != nil {
			return
		}
	}
}
