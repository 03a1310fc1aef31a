package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/escape"
)

// answerTime is how long a listener may take to answer. Loopback refuses at once.
const answerTime = 3 * time.Second

// network are ways to reach other machines, for which listeners on loopback stand.
func network() map[string]func(*escape.World) escape.Answer {
	return map[string]func(*escape.World) escape.Answer{
		"tcp":          func(w *escape.World) escape.Answer { return tell("tcp", w.TCP, w) },
		"tcp-listed":   func(w *escape.World) escape.Answer { return tell("tcp", w.Listed, w) },
		"tcp6":         tell6,
		"tcp-metadata": func(w *escape.World) escape.Answer { return tell("tcp", w.Metadata, w) },
		"tcp-fastopen": func(w *escape.World) escape.Answer {
			return bySocket(w, w.TCP, unix.SOCK_STREAM, 0, unix.MSG_FASTOPEN)
		},
		"mptcp": func(w *escape.World) escape.Answer {
			return bySocket(w, w.TCP, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, 0)
		},
		"sctp":           func(w *escape.World) escape.Answer { return bySocket(w, w.TCP, unix.SOCK_STREAM, unix.IPPROTO_SCTP, 0) },
		"udp":            func(w *escape.World) escape.Answer { return bySocket(w, w.UDP, unix.SOCK_DGRAM, 0, 0) },
		"udplite":        byUDPLite,
		"udp-connected":  func(w *escape.World) escape.Answer { return tell("udp", w.UDP, w) },
		"dns":            resolve,
		"tcp-listen":     listenForOthers,
		"loopback":       loopback,
		"proxy-listed":   func(w *escape.World) escape.Answer { return byProxy(w, w.Listed) },
		"proxy-unlisted": func(w *escape.World) escape.Answer { return byProxy(w, w.TCP) },
		"proxy-metadata": func(w *escape.World) escape.Answer { return byProxy(w, w.Metadata) },
		"raw":            func(*escape.World) escape.Answer { return opens(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) },
		"packet":         func(*escape.World) escape.Answer { return opens(unix.AF_PACKET, unix.SOCK_RAW, 0) },
		"vsock":          func(*escape.World) escape.Answer { return opens(unix.AF_VSOCK, unix.SOCK_STREAM, 0) },
		"crypto":         func(*escape.World) escape.Answer { return opens(unix.AF_ALG, unix.SOCK_SEQPACKET, 0) },
		"netlink-audit":  func(*escape.World) escape.Answer { return opens(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT) },
		"netlink-netfilter": func(*escape.World) escape.Answer {
			return opens(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER)
		},
		// It names an interface that does not exist, which the kernel looks for last.
		"network-settings": func(*escape.World) escape.Answer {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return outcome(err)
			}
			defer func() { _ = unix.Close(fd) }()
			request := make([]byte, 40)
			copy(request, "no-such-device")
			_, err = call(unix.SYS_IOCTL, fd, unix.SIOCSIFFLAGS, request)
			return reached(err, unix.ENODEV)
		},
		"sockets-netlink": socketsByNetlink,
		"other-families":  otherFamilies,
		"uring-connect":   uringConnect,
		"uring-open":      uringOpen,
	}
}

// tell connects, says the nonce, and waits for the answer.
func tell(network, address string, w *escape.World) escape.Answer {
	conn, err := net.DialTimeout(network, address, answerTime)
	if err != nil {
		return netOutcome(err)
	}
	return talk(conn, w.Nonce)
}

func tell6(w *escape.World) escape.Answer {
	if w.TCP6 == "" {
		return escape.Answer{Outcome: escape.Unavailable, Note: "there is no IPv6"}
	}
	return tell("tcp6", w.TCP6, w)
}

func talk(conn net.Conn, nonce string) escape.Answer {
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(answerTime))
	if _, err := io.WriteString(conn, nonce); err != nil {
		return netOutcome(err)
	}
	answer := make([]byte, 64)
	n, err := conn.Read(answer)
	if err != nil {
		return netOutcome(err)
	}
	if string(answer[:n]) != nonce {
		return inconclusive("the answer is %q", answer[:n])
	}
	return done("")
}

// netOutcome knows that a connection that is closed at once was not made either.
func netOutcome(err error) escape.Answer {
	if errors.Is(err, io.EOF) {
		return denied("the connection was closed")
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return denied("nothing answered")
	}
	return outcome(err)
}

func byUDPLite(w *escape.World) escape.Answer {
	if w.UDPLite == "" {
		return escape.Answer{Outcome: escape.Unavailable, Note: "the kernel has no UDP-Lite"}
	}
	return bySocket(w, w.UDPLite, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE, 0)
}

func sockaddr(address string) unix.Sockaddr {
	at := netip.MustParseAddrPort(address)
	return &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}
}

// bySocket sends the nonce by sendto(2), and for streams without that flag by connect(2).
func bySocket(w *escape.World, address string, kind, protocol, flags int) escape.Answer {
	fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return outcome(err)
	}
	defer func() { _ = unix.Close(fd) }()
	wait := unix.NsecToTimeval(int64(answerTime))
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &wait)
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait)
	_ = unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_RECVERR, 1) // tells when a datagram was refused
	to := sockaddr(address)
	if kind == unix.SOCK_STREAM && flags == 0 {
		if err = unix.Connect(fd, to); err == nil {
			_, err = unix.Write(fd, []byte(w.Nonce))
		}
	} else {
		err = unix.Sendto(fd, []byte(w.Nonce), flags, to)
	}
	if err != nil {
		return outcome(err)
	}
	answer := make([]byte, 64)
	n, err := unix.Read(fd, answer)
	switch {
	case errors.Is(err, unix.EAGAIN):
		return denied("nothing answered")
	case err != nil:
		return outcome(err)
	case string(answer[:n]) != w.Nonce:
		return inconclusive("the answer is %q", answer[:n])
	}
	return done("")
}

func resolve(w *escape.World) escape.Answer {
	r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", w.DNS)
	}}
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	found, err := r.LookupNetIP(ctx, "ip4", w.Nonce+".test.")
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return denied(err.Error())
	case err != nil:
		return netOutcome(err)
	}
	return done(fmt.Sprint(found))
}

// listenForOthers is done if the test reaches it.
func listenForOthers(w *escape.World) escape.Answer {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return netOutcome(err)
	}
	go func() {
		defer func() { _ = l.Close() }()
		_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(patience)) //nolint:forcetypeassert // it is one
		conn, err := l.Accept()
		if err == nil {
			_, _ = io.WriteString(conn, w.Nonce)
			_ = conn.Close()
		}
	}()
	return escape.Answer{Outcome: escape.Done, Listens: l.Addr().String()}
}

// loopback is a server and a client in one process, as tests have them.
func loopback(w *escape.World) escape.Answer {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return netOutcome(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		if conn, err := l.Accept(); err == nil {
			_, _ = io.CopyN(conn, conn, int64(len(w.Nonce)))
			_ = conn.Close()
		}
	}()
	return tell("tcp", l.Addr().String(), w)
}

// byProxy asks the proxy that the environment names for a connection.
func byProxy(w *escape.World, address string) escape.Answer {
	named := os.Getenv("HTTPS_PROXY")
	if named == "" {
		return denied("the environment has no HTTPS_PROXY")
	}
	proxy, err := url.Parse(named)
	if err != nil {
		return inconclusive("HTTPS_PROXY: %v", err)
	}
	conn, err := net.DialTimeout("tcp", proxy.Host, answerTime)
	if err != nil {
		return netOutcome(err)
	}
	_ = conn.SetDeadline(time.Now().Add(answerTime))
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", address); err != nil {
		return netOutcome(errors.Join(err, conn.Close()))
	}
	in := bufio.NewReaderSize(conn, 1) // what follows is not the proxy's
	status, err := in.ReadString('\n')
	if err != nil || !strings.Contains(status, " 200 ") {
		_ = conn.Close()
		return denied("the proxy says " + strings.TrimSpace(status))
	}
	for line := ""; line != "\r\n"; {
		if line, err = in.ReadString('\n'); err != nil {
			return netOutcome(errors.Join(err, conn.Close()))
		}
	}
	return talk(conn, w.Nonce)
}

func opens(family, kind, protocol int) escape.Answer {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
	if err == nil {
		_ = unix.Close(fd)
	}
	return outcome(err)
}

// otherFamilies looks for families of sockets that programs hardly use.
func otherFamilies(*escape.World) escape.Answer {
	known := map[int]bool{unix.AF_UNIX: true, unix.AF_INET: true, unix.AF_INET6: true, unix.AF_NETLINK: true, unix.AF_PACKET: true, unix.AF_VSOCK: true, unix.AF_ALG: true}
	answer := escape.Answer{Outcome: escape.Unavailable, Note: "the kernel has no other families"}
	for family := 1; family < 48; family++ {
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_SEQPACKET} {
			if known[family] {
				continue
			}
			if a := opens(family, kind, 0); a.Outcome == escape.Done {
				return done(fmt.Sprintf("family %d, type %d", family, kind))
			} else if a.Outcome == escape.Denied {
				answer = a
			}
		}
	}
	return answer
}

// socketsByNetlink asks sock_diag(7) for the listener.
func socketsByNetlink(w *escape.World) escape.Answer {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return outcome(err)
	}
	defer func() { _ = unix.Close(fd) }()
	wait := unix.NsecToTimeval(int64(answerTime))
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait)
	const byFamily, listening = 20, 1 << 10
	m := make([]byte, 16+56) // nlmsghdr, inet_diag_req_v2
	u32 := func(at int, v uint32) { *(*uint32)(unsafe.Pointer(&m[at])) = v }
	u32(0, uint32(len(m)))
	u32(4, byFamily|(unix.NLM_F_REQUEST|unix.NLM_F_DUMP)<<16)
	m[16], m[17] = unix.AF_INET, unix.IPPROTO_TCP
	u32(20, listening)
	if err := unix.Sendto(fd, m, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return outcome(err)
	}
	port := netip.MustParseAddrPort(w.TCP).Port()
	for answer := make([]byte, 1<<16); ; {
		n, err := unix.Read(fd, answer)
		if err != nil {
			return outcome(err)
		}
		for at := 0; at+16 <= n; {
			length, kind := int(*(*uint32)(unsafe.Pointer(&answer[at]))), *(*uint16)(unsafe.Pointer(&answer[at+4]))
			switch {
			case kind == unix.NLMSG_DONE:
				return denied("the listener is not listed")
			case kind == unix.NLMSG_ERROR:
				return outcome(unix.Errno(-*(*int32)(unsafe.Pointer(&answer[at+16]))))
			case length >= 16+6 && uint16(answer[at+20])<<8|uint16(answer[at+21]) == port:
				return done("")
			}
			at += (length + 3) &^ 3
		}
	}
}
