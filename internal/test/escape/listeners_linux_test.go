package escape_test

import (
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/require"
)

// listeners note what they are told, and answer with the same.
type listeners struct {
	mu    sync.Mutex
	heard map[string]bool
	news  chan struct{} // closed and made again when something was heard
}

func newListeners() *listeners {
	return &listeners{heard: map[string]bool{}, news: make(chan struct{})}
}

func (l *listeners) note(nonce string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard[nonce] = true
	close(l.news)
	l.news = make(chan struct{})
}

// has reports whether a nonce was heard, and waits for it for a while.
func (l *listeners) has(nonce string, wait time.Duration) bool {
	late := time.After(wait)
	for {
		l.mu.Lock()
		heard, news := l.heard[nonce], l.news
		l.mu.Unlock()
		if heard || wait == 0 {
			return heard
		}
		select {
		case <-news:
		case <-late:
			return false
		}
	}
}

// stream listens for streams, and returns the address.
func (l *listeners) stream(t *testing.T, network, address string) string {
	t.Helper()
	listener, err := net.Listen(network, address) //nolint:noctx // closed with the test
	require.NoError(t, err)
	var all sync.WaitGroup
	t.Cleanup(func() { _ = listener.Close(); all.Wait() })
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer func() { _ = conn.Close() }()
				_ = conn.SetDeadline(time.Now().Add(ceiling))
				text := make([]byte, 256)
				n, err := conn.Read(text)
				if err != nil {
					return
				}
				l.note(string(text[:n]))
				_, _ = conn.Write(text[:n])
			})
		}
	})
	return listener.Addr().String()
}

// datagrams listens for them. Answer makes the answer and what was said; nil: the same.
func (l *listeners) datagrams(t *testing.T, network, address string, answer func([]byte) (reply []byte, nonce string)) string {
	t.Helper()
	conn, err := net.ListenPacket(network, address) //nolint:noctx // closed with the test
	require.NoError(t, err)
	return l.packets(t, conn, answer)
}

func (l *listeners) packets(t *testing.T, conn net.PacketConn, answer func([]byte) (reply []byte, nonce string)) string {
	t.Helper()
	ended := make(chan struct{})
	t.Cleanup(func() { _ = conn.Close(); <-ended })
	go func() {
		defer close(ended)
		for text := make([]byte, 2048); ; {
			n, from, err := conn.ReadFrom(text)
			if errors.Is(err, net.ErrClosed) {
				return
			} else if err != nil {
				continue
			}
			reply, nonce := text[:n], string(text[:n])
			if answer != nil {
				reply, nonce = answer(text[:n])
			}
			l.note(nonce)
			if from != nil && from.String() != "" {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	return conn.LocalAddr().String()
}

// udpLite listens for datagrams by UDP-Lite; empty: the kernel has none.
func (l *listeners) udpLite(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.IPPROTO_UDPLITE)
	if err != nil {
		return ""
	}
	f := os.NewFile(uintptr(fd), "udplite")
	defer func() { _ = f.Close() }()
	require.NoError(t, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	conn := require.Must(net.FilePacketConn(f))(t)
	return l.packets(t, conn, nil)
}

// nameServer answers each question with an address. What it is told is the first label.
func nameServer(query []byte) (reply []byte, nonce string) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil || len(m.Questions) == 0 {
		return nil, ""
	}
	q := m.Questions[0]
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	if q.Type == dnsmessage.TypeA {
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1},
			Body:   &dnsmessage.AResource{A: [4]byte{192, 0, 2, 1}},
		}}
	}
	reply, err := m.Pack()
	if err != nil {
		return nil, ""
	}
	nonce, _, _ = strings.Cut(q.Name.String(), ".")
	return reply, nonce
}

// terminal notes the lines that are written to it, by their words.
func (l *listeners) terminal(person *os.File) {
	for text := make([]byte, 4096); ; {
		n, err := person.Read(text)
		if err != nil {
			return
		}
		for word := range strings.FieldsSeq(string(text[:n])) {
			l.note(word)
		}
	}
}
