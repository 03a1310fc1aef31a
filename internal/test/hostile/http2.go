package hostile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/wire"
)

// What a plugin may do below gRPC.
const (
	OddSettings plugintest.Mode = "oddsettings" // lets no request fit its limits
	GoAways     plugintest.Mode = "goaways"     // sends its host away after the first call, over and over, for too many pings
	Pings       plugintest.Mode = "pings"       // sends pings for two seconds in the call, and tells how many a second were taken
	UnaryHold   plugintest.Mode = "unaryhold"   // sends all of an answer of 60 MiB to each call but its end
)

func http2Modes() map[plugintest.Mode]func() {
	return map[plugintest.Mode]func(){
		OddSettings: func() { warn(); server{opts: []grpc.ServerOption{grpc.MaxHeaderListSize(1)}}.serve() },
		GoAways: pouring(func(f *flooder) string {
			away := []byte{0, 0, 22, byte(http2.FrameGoAway), 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, byte(http2.ErrCodeEnhanceYourCalm)}
			away = append(away, "too_many_pings"...)
			go func() {
				time.Sleep(100 * time.Millisecond) // the answer goes first
				f.flood(away, time.Hour)
			}()
			return "done"
		}),
		Pings: pouring(func(f *flooder) string {
			ping := append([]byte{0, 0, 8, byte(http2.FramePing), 0, 0, 0, 0, 0}, "12345678"...)
			begin := time.Now()
			n := f.flood(ping, 2*time.Second)
			return fmt.Sprint(int(float64(n) / time.Since(begin).Seconds()))
		}),
		UnaryHold: server{about: wire.Description{Features: []string{wire.FeatureStderr}}, over: holdUnary}.serve,
	}
}

// flooder writes frames of its own between a server's.
type flooder struct {
	net.Conn
	mu sync.Mutex
}

// Write implements [net.Conn].
func (f *flooder) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.Conn.Write(b)
}

// flood writes a frame again and again, and returns how often it could.
func (f *flooder) flood(frame []byte, d time.Duration) (n int) {
	const atOnce = 100
	for many, end := bytes.Repeat(frame, atOnce), time.Now().Add(d); time.Now().Before(end); n += atOnce {
		if _, err := f.Write(many); err != nil {
			return n
		}
	}
	return n
}

// pouring floods the connection in a call.
func pouring(do func(f *flooder) string) func() {
	return func() {
		var conn *flooder
		server{
			conn: func(c net.Conn) net.Conn {
				conn = &flooder{Conn: c}
				return conn
			},
			answer: func(c call) { warn(); c.reply(text(do(conn))) },
		}.serve()
	}
}

// holdUnary serves what is not a call by gRPC.
func holdUnary(g *grpc.Server, l net.Listener) {
	var plain http.Protocols
	plain.SetUnencryptedHTTP2(true)
	hold := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != executeRPC {
			g.ServeHTTP(w, r)
			return
		}
		const size = 60 << 20
		w.Header().Set("Content-Type", "application/grpc")
		_, _ = w.Write(binary.BigEndian.AppendUint32([]byte{0}, size))
		piece := make([]byte, 60<<10)
		for range size/len(piece) - 1 {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
		<-r.Context().Done()
	})
	must((&http.Server{Handler: hold, Protocols: &plain, ReadHeaderTimeout: time.Minute}).Serve(l))
}
