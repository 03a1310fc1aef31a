package egress

import (
	"context"
	"io"
	"net"
	"net/netip"
	"testing"
)

// Whatever a plugin sends, only what the list has is looked up and dialed.
func FuzzFirstBytes(f *testing.F) {
	for _, s := range []string{
		"CONNECT api.example.com:443 HTTP/1.1\r\n\r\nearly",
		"CONNECT inside.example.com:443 HTTP/1.1\r\n\r\n",
		"CONNECT 10.0.0.5:443 HTTP/1.0\r\nHost: x\r\n\r\n",
		"GET http://api.example.com:443/a?b HTTP/1.1\r\nHost: x\r\nConnection: X\r\n\r\n",
		"POST http://inside.example.com:443/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
		"\x05\x01\x00\x05\x01\x00\x03\x0fapi.example.com\x01\xbbearly",
		"\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x01\xbb",
		"\x05\x01\x00\x05\x01\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x7f\x00\x00\x01\x01\xbb",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		p := New(parse(t, "api.example.com:443", "inside.example.com:443", "10.0.0.5:443"), Options{
			Lookup: func(_ context.Context, name string) ([]netip.Addr, error) {
				switch name {
				case "api.example.com":
					return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
				case "inside.example.com":
					return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::ffff:10.0.0.6")}, nil
				}
				t.Errorf("%q: looked up %q", sent, name)
				return nil, io.EOF
			},
			Dial: func(_ context.Context, addr netip.AddrPort) (net.Conn, error) {
				if s := addr.String(); s != "93.184.216.34:443" && s != "10.0.0.5:443" {
					t.Errorf("%q: dialed %s", sent, s)
				}
				near, far := pipe()
				go func() {
					_, _ = io.Copy(io.Discard, far)
					_ = far.Close()
				}()
				return near, nil
			},
		})
		defer p.Close()
		client, inside := pipe()
		if !p.start(inside, (*session).proxied) {
			t.Fatal("no session")
		}
		go func() {
			_, _ = client.Write(sent)
			_ = client.(*duplex).CloseWrite()
		}()
		_, _ = io.Copy(io.Discard, client)
		_ = client.Close()
	})
}
