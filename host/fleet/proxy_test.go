package fleet_test

import (
	"bufio"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// proxy stands between hosts and their NATS server, and can keep messages from arriving, as a server
// does that has no room for them, or a network that is cut.
type proxy struct {
	listener net.Listener
	server   string

	mu    sync.Mutex
	rule  func(toServer bool, subject string) bool // reports whether a message is lost; nil: none is
	conns []net.Conn
}

// proxied returns what is between the hosts that connect to its URL and the site's server.
func (s *site) proxied(t testing.TB) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, server: strings.TrimPrefix(s.URL(), "nats://")}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", p.server) //nolint:noctx // on loopback
			if err != nil {
				_ = client.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, client, server)
			p.mu.Unlock()
			all.Go(func() { p.copy(server, client, true) })
			all.Go(func() { p.copy(client, server, false) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
		all.Wait()
	})
	return p
}

func (p *proxy) URL() string { return "nats://" + p.listener.Addr().String() }

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
