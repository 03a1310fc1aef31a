package egress

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
)

// echo answers with what it was sent, once all of it has been.
func echo(conn *net.TCPConn) {
	all, _ := io.ReadAll(conn)
	_, _ = conn.Write(all)
}

// socks asks for a target and returns the reply, with the connection.
func (w *world) socks(kind byte, address string, port uint16) (byte, net.Conn) {
	w.t.Helper()
	conn := w.connect()
	request := append([]byte{5, 1, 0, 5, 1, 0, kind}, address...)
	if _, err := conn.Write(binary.BigEndian.AppendUint16(request, port)); err != nil {
		w.t.Fatal(err)
	}
	answer := make([]byte, 12)
	if _, err := io.ReadFull(conn, answer); err != nil {
		w.t.Fatalf("%v after %v", err, answer)
	}
	if answer[0] != 5 || answer[1] != 0 || answer[2] != 5 {
		w.t.Fatalf("the answer is %v", answer)
	}
	return answer[3], conn
}

func named(name string) string { return string(rune(len(name))) + name }

// What a name leads to decides, and not the name alone.
func TestNamesThatLeadInside(t *testing.T) {
	t.Parallel()
	for _, a := range []string{
		"127.0.0.1", "169.254.169.254", "10.0.0.5", "192.168.1.1", "172.16.0.1", "100.64.0.1", "0.0.0.0", "224.0.0.1", "::", "::1", "fe80::1", "fd00:ec2::254",
		"::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "2002:7f00:1::", "::127.0.0.1",
	} {
		t.Run(a, func(t *testing.T) {
			t.Parallel()
			addr := netip.AddrPortFrom(netip.MustParseAddr(a).Unmap(), 80)
			w := newWorld(t, "evil.example.com:80", "*.evil.example.com:80")
			w.at("evil.example.com", netip.AddrPortFrom(netip.MustParseAddr(a), 80).String(), server(t, echo))
			w.at("", addr.String(), server(t, echo))
			w.names["a.evil.example.com"] = w.names["evil.example.com"]
			for _, name := range []string{"evil.example.com", "a.evil.example.com"} {
				for _, request := range []string{"CONNECT " + name + ":80 HTTP/1.1\r\nHost: x\r\n\r\n", "GET http://" + name + "/ HTTP/1.1\r\nHost: x\r\n\r\n"} {
					answer := w.raw(request)
					if !strings.HasPrefix(answer, "HTTP/1.1 403 ") || !strings.Contains(answer, "the sandbox of plugin probe does not allow connections to "+name+":80: the name leads to "+addr.Addr().String()) {
						t.Errorf("%q: %q", request, answer)
					}
				}
				if reply, _ := w.socks(socksName, named(name), 80); reply != socksNotAllowed {
					t.Errorf("SOCKS to %s: %d", name, reply)
				}
			}
			if _, dialed := w.took(); len(dialed) > 0 {
				t.Errorf("dialed %v", dialed)
			}
		})
	}
}

// An address that the list has itself may be meant by a name of the list.
func TestListedAddresses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pattern, target, addr string }{
		{"10.0.0.5:80", "10.0.0.5:80", "10.0.0.5:80"},
		{"10.0.0.5:80", "db.example.com:80", "10.0.0.5:80"},
		{"127.0.0.1:80", "127.0.0.1:80", "127.0.0.1:80"},
		{"127.0.0.1:80", "[::ffff:127.0.0.1]:80", "127.0.0.1:80"},
		{"[fd00::1]:80", "[FD00:0::1]:80", "[fd00::1]:80"},
		{"localhost:80", "LOCALHOST.:80", "127.0.0.1:80"},
		{"8.8.8.8:*", "8.8.8.8:80", "8.8.8.8:80"},
	} {
		t.Run(c.pattern+" "+c.target, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "db.example.com:80", c.pattern)
			w.at("db.example.com", "10.0.0.5:80", server(t, echo))
			w.at("", c.addr, server(t, echo))
			_ = w.tunnel(c.target)
			if _, dialed := w.took(); !slices.Equal(dialed, []string{c.addr}) {
				t.Errorf("dialed %v", dialed)
			}
		})
	}
}

// A name is resolved once, and what was checked is dialed: what a second answer says, and the
// inside addresses of a mixed one, count for nothing.
func TestRebinding(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "evil.example.com:80")
	w.names["evil.example.com"] = []string{"127.0.0.1", "10.0.0.1", "93.184.216.34", "fe80::1"}
	for _, a := range []string{"127.0.0.1:80", "10.0.0.1:80", "93.184.216.34:80", "[fe80::1]:80"} {
		w.at("", a, server(t, echo))
	}
	for range 3 {
		_ = w.tunnel("evil.example.com:80")
	}
	looked, dialed := w.took()
	if len(looked) != 3 || !slices.Equal(dialed, []string{"93.184.216.34:80", "93.184.216.34:80", "93.184.216.34:80"}) {
		t.Errorf("looked up %v, dialed %v", looked, dialed)
	}
}

// What the list does not have is not even looked up: names carry data to their name servers.
func TestNotListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "api.example.com:443", "192.0.2.7:5432", "localhost:8080")
	w.names["api.example.com"] = []string{"93.184.216.34"}
	for _, target := range []string{
		"secret.exfil.example.org:443", "api.example.com:80", "xapi.example.com:443", "api.example.com.evil.example.org:443", "93.184.216.34:443", "192.0.2.7:443",
		"192.0.2.8:5432", "localhost:80", "127.0.0.1:8080", "[::1]:8080", "169.254.169.254:80", "0.0.0.0:8080", "[::]:8080", "[::ffff:127.0.0.1]:8080", "localhost.localdomain:8080",
	} {
		answer := w.raw("CONNECT " + target + " HTTP/1.1\r\n\r\n")
		parsed, _ := parseTarget(target)
		text := "the sandbox of plugin probe does not allow connections to " + parsed.String() + "; the operator can add it to net"
		if !strings.HasPrefix(answer, "HTTP/1.1 403 "+text+"\r\n") || !strings.HasSuffix(answer, "\r\n\r\n"+text+"\n") {
			t.Errorf("%s: %q", target, answer)
		}
		if reply, _ := w.socks(socksName, named(parsed.host.String()), parsed.port); reply != socksNotAllowed {
			t.Errorf("SOCKS to %s as a name: %d", target, reply)
		}
		if b := parsed.addr.AsSlice(); len(b) == 4 {
			if reply, _ := w.socks(socksIPv4, string(b), parsed.port); reply != socksNotAllowed {
				t.Errorf("SOCKS to %s: %d", target, reply)
			}
		}
	}
	for _, a := range []string{"::1", "::ffff:127.0.0.1", "::ffff:93.184.216.34"} {
		b := netip.MustParseAddr(a).As16()
		if reply, _ := w.socks(socksIPv6, string(b[:]), 8080); reply != socksNotAllowed {
			t.Errorf("SOCKS to [%s]: %d", a, reply)
		}
	}
	if looked, dialed := w.took(); len(looked)+len(dialed) > 0 {
		t.Errorf("looked up %v, dialed %v", looked, dialed)
	}
}

func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "api.example.com:443", "api.example.com:80")
	w.at("api.example.com", "93.184.216.34:443", server(t, echo))
	w.at("", "93.184.216.34:80", server(t, echo))
	for request, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n":                                        "400 Bad Request",
		"OPTIONS * HTTP/1.1\r\nHost: api.example.com\r\n\r\n":                                    "400 Bad Request",
		"GET https://api.example.com/ HTTP/1.1\r\nHost: x\r\n\r\n":                               "use CONNECT",
		"GET ftp://api.example.com/ HTTP/1.1\r\nHost: x\r\n\r\n":                                 "only http://",
		"GET http://u:p@api.example.com/ HTTP/1.1\r\nHost: x\r\n\r\n":                            "no user",
		"GET http://api.example.com:0/ HTTP/1.1\r\nHost: x\r\n\r\n":                              "65535",
		"GET http:///x HTTP/1.1\r\nHost: api.example.com\r\n\r\n":                                "400 Bad Request",
		"GET http:api.example.com HTTP/1.1\r\nHost: api.example.com\r\n\r\n":                     "400 Bad Request",
		"GET http://%61pi.example.com/ HTTP/1.1\r\nHost: x\r\n\r\n":                              "400 Bad Request",
		"GET http://api.example.com/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n":                     "400 Bad Request",
		"GET http://api.example.com/ HTTP/1.1\r\n\r\n":                                           "400 Bad Request",
		"GET http://api.example.com/ HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n":                       "400 Bad Request",
		"GET http://api.example.com/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 2\r\n\r\n":        "400 Bad Request",
		"GET http://api.example.com/ HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n":          "400 Bad Request",
		"GET http://api.example.com/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: x, chunked\r\n\r": "",
		"CONNECT api.example.com HTTP/1.1\r\nHost: x\r\n\r\n":                                    "400 the proxy of plugin probe: the host: it is not host:port",
		"CONNECT u@api.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n":                              "400 the proxy",
		"CONNECT api.example.com:443/x HTTP/1.1\r\nHost: x\r\n\r\n":                              "400 the proxy",
		"CONNECT api.example.com:443?x HTTP/1.1\r\nHost: x\r\n\r\n":                              "400 the proxy",
		"CONNECT http://api.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n":                         "400 ",
		"CONNECT /rpc HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n":                             "400 the proxy",
		"CONNECT 2130706433:443 HTTP/1.1\r\nHost: x\r\n\r\n":                                     "400 the proxy",
		"CONNECT api.example.com\x00.evil.example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n":           "400 ",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":                                                       "HTTP/1.1 400",
		"get http://api.example.com/ HTTP/1.1\r\nHost: x\r\n\r\n":                                "",
		"\x16\x03\x01\x02\x00\x01":                                                               "",
		"\x04\x01\x00\x50\x00\x00\x00\x01a\x00":                                                  "",
		"\x05\x01\x02":                                                                           "\x05\xff",
		"\x05\x00":                                                                               "\x05\xff",
		"\x05\x01\x00\x04\x01\x00\x01\x7f\x00\x00\x01\x00\x50":                                   "\x05\x00\x05\x01",
		"\x05\x01\x00\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x50":                                   "\x05\x00\x05\x07",
		"\x05\x01\x00\x05\x03\x00\x01\x7f\x00\x00\x01\x00\x50":                                   "\x05\x00\x05\x07",
		"\x05\x01\x00\x05\x01\x00\x09\x7f\x00\x00\x01\x00\x50":                                   "\x05\x00\x05\x08",
		"\x05\x01\x00\x05\x01\x00\x03\x00\x01\xbb":                                               "\x05\x00\x05\x02",
		"\x05\x01\x00\x05\x01\x00\x03\x10api.example.com\x00\x01\xbb":                            "\x05\x00\x05\x02",
		"\x05\x01\x00\x05\x01\x00\x03\x0fapi.example.com\x00\x00":                                "\x05\x00\x05\x02",
		"\x05\x02\x02\x00\x05\x01\x00\x03\x0fapi.example.com\x01\xbc":                            "\x05\x00\x05\x02",
	} {
		conn := w.connect()
		_, _ = io.WriteString(conn, request)
		_ = conn.CloseWrite()
		raw, err := io.ReadAll(conn)
		answer := string(raw)
		// A connection that is closed although it has more to read is reset.
		if err != nil && want != "" || want == "" && answer != "" && !strings.HasPrefix(answer, "HTTP/1.1 4") && !strings.HasPrefix(answer, "HTTP/1.1 5") {
			t.Errorf("%q: %v, %q", request, err, answer)
		}
		if !strings.Contains(answer, want) {
			t.Errorf("%q: %q does not have %q", request, answer, want)
		}
	}
	if _, dialed := w.took(); len(dialed) > 0 {
		t.Errorf("dialed %v", dialed)
	}
}

// A request with more headers than fit is not read to its end.
func TestHeaderFlood(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "api.example.com:443")
	conn := w.connect()
	ended := make(chan bool)
	go func() {
		defer close(ended)
		answer, _ := io.ReadAll(conn) // with an error, if it is reset
		if s := string(answer); s != "" && !strings.HasPrefix(s, "HTTP/1.1 431 ") {
			t.Errorf("the answer is %q", s)
		}
	}()
	_, err := io.WriteString(conn, "CONNECT api.example.com:443 HTTP/1.1\r\n")
	line := "X-Header: " + strings.Repeat("x", 1000) + "\r\n"
	for sent := 0; err == nil; sent += len(line) {
		if _, err = io.WriteString(conn, line); sent > 1<<30 {
			t.Fatal("a request of a gigabyte was read")
		}
	}
	<-ended
	answer := w.raw("CONNECT api.example.com:443 HTTP/1.1\r\n" + strings.Repeat(line, 100) + "\r\n")
	if !strings.HasPrefix(answer, "HTTP/1.1 431 ") {
		t.Errorf("the answer to 100 KiB is %q", answer)
	}
}

// What a client hears of a refusal is not lost because it has sent more.
func TestRefusalArrives(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	more := strings.Repeat("x", 32<<10)
	assert.Contains(t, w.raw("CONNECT api.example.com:443 HTTP/1.1\r\n\r\n"+more), "the sandbox of plugin probe does not allow")
	if answer := w.raw("\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50" + more); !strings.HasPrefix(answer, "\x05\x00\x05\x02") {
		t.Errorf("%q", answer)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		status string
		reply  byte
		text   string
	}{
		{&net.OpError{Op: "dial", Source: &net.TCPAddr{IP: net.IPv4(10, 9, 8, 7)}, Err: syscall.ECONNREFUSED}, "502", socksConnRefused, "refused"},
		{&net.OpError{Op: "dial", Source: &net.TCPAddr{IP: net.IPv4(10, 9, 8, 7)}, Err: syscall.ENETUNREACH}, "502", socksNetUnreachable, ""},
		{syscall.EHOSTUNREACH, "502", socksHostUnreachable, ""},
		{context.DeadlineExceeded, "504", socksExpired, "in time"},
		{io.ErrUnexpectedEOF, "502", socksFailed, "there is no connection to api.example.com:80"},
		{&net.DNSError{Err: "no such host", Server: "10.9.8.7:53", IsNotFound: true}, "502", socksHostUnreachable, "api.example.com cannot be resolved: there is no such name"},
		{&net.DNSError{Err: "server misbehaving", Server: "10.9.8.7:53"}, "502", socksHostUnreachable, "the name server has failed"},
		{&net.DNSError{Err: "timeout", Server: "10.9.8.7:53", IsTimeout: true}, "504", socksExpired, "in time"},
	} {
		t.Run(c.err.Error(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "api.example.com:80")
			w.names["api.example.com"] = []string{"93.184.216.34"}
			w.err = c.err
			for _, request := range []string{"CONNECT api.example.com:80 HTTP/1.1\r\n\r\n", "GET http://api.example.com/ HTTP/1.1\r\nHost: x\r\n\r\n"} {
				answer := w.raw(request)
				if !strings.HasPrefix(answer, "HTTP/1.1 "+c.status) || !strings.Contains(answer, c.text) || strings.Contains(answer, "10.9.8.7") {
					t.Errorf("%q: %q", request, answer)
				}
			}
			if reply, _ := w.socks(socksName, named("api.example.com"), 80); reply != c.reply {
				t.Errorf("SOCKS: %d, not %d", reply, c.reply)
			}
			if n := w.proxy.Stats().Count(Failed); n != 3 {
				t.Errorf("%d connections have failed, not 3", n)
			}
		})
	}
}
