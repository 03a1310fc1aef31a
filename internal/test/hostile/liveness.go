package hostile

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// How a plugin may live, and not live.
const (
	Mute       plugintest.Mode = "mute"       // accepts the connection and never speaks
	Deaf       plugintest.Mode = "deaf"       // listens and never accepts
	NoDescribe plugintest.Mode = "nodescribe" // never describes itself
	NoConfig   plugintest.Mode = "noconfig"   // never takes its configuration
	NoHealth   plugintest.Mode = "nohealth"   // never answers a health check, nor a call with "silent" in its arguments
	Sick       plugintest.Mode = "sick"       // says that it is not serving; answers as [NoHealth] does
	Stubborn   plugintest.Mode = "stubborn"   // ignores cancellation, signals and the request to end
	Silence    plugintest.Mode = "silence"    // has taken the call and never answers, whatever comes
	Chatter    plugintest.Mode = "chatter"    // reports progress for ever
	Trickle    plugintest.Mode = "trickle"    // sends its answer a byte at a time, for ever
	NoShutdown plugintest.Mode = "noshutdown" // never answers the request to end
	HangUp     plugintest.Mode = "hangup"     // closes its connections in the call and lives on
	Panic      plugintest.Mode = "panic"      // panics in the call, in an unguarded goroutine
	Exit       plugintest.Mode = "exit"       // exits with 3 in the call
	Ledger     plugintest.Mode = "ledger"     // writes down each run, see LedgerTools
	Dying      plugintest.Mode = "dying"      // exits with 5 soon after each start
)

// The tools of [Ledger]. Each run leaves a line in the file "ledger" of the
// workspace: the tool's name, and the call's ID.
const (
	LedgerPID  = "ledger.pid"  // tells the process number
	LedgerOnce = "ledger.once" // waits for its end in the first process, answers in later ones
	LedgerSafe = "ledger.safe" // the same, and it says that it may be repeated
)

type none struct{}

func livenessModes() map[plugintest.Mode]func() {
	return map[plugintest.Mode]func(){
		Mute: func() {
			l := listen(filepath.Join(socketDir(), "s"))
			warn()
			shout(honest(l.Addr().String()))
			for {
				if _, err := l.Accept(); err != nil {
					return
				}
			}
		},
		Deaf: func() {
			l := listen(filepath.Join(socketDir(), "s"))
			warn()
			shout(honest(l.Addr().String()))
			plugintest.Hang()
		},
		NoDescribe: server{rpc: map[string]func(grpc.ServerStream) error{describeRPC: warned(hang)}}.serve,
		NoConfig:   server{rpc: map[string]func(grpc.ServerStream) error{configRPC: warned(hang)}}.serve,
		NoHealth:   server{answer: unlessSilent, rpc: map[string]func(grpc.ServerStream) error{healthRPC: hang}}.serve,
		Sick: server{answer: unlessSilent, rpc: map[string]func(grpc.ServerStream) error{healthRPC: func(s grpc.ServerStream) error {
			return s.SendMsg(message{{1 << 3, 2}}) // NOT_SERVING
		}}}.serve,
		Stubborn: func() {
			signal.Ignore()
			server{
				rpc:    map[string]func(grpc.ServerStream) error{shutdownRPC: hang},
				answer: func(call) { warn(); plugintest.Hang() },
			}.serve()
		},
		Silence:    server{answer: func(call) { warn() }}.serve,
		Chatter:    func() { pluginsdk.Main(chatter()) },
		Trickle:    trickle,
		NoShutdown: server{rpc: map[string]func(grpc.ServerStream) error{shutdownRPC: hang}}.serve,
		HangUp:     hangUp,
		Panic:      server{answer: func(call) { warn(); go panic("the author's mistake\x1b[2J") }}.serve,
		Exit:       server{answer: func(call) { warn(); os.Exit(3) }}.serve,
		Ledger:     func() { pluginsdk.Main(ledgerTools()...) },
		Dying: func() {
			warn()
			time.AfterFunc(50*time.Millisecond, func() { os.Exit(5) })
			server{}.serve()
		},
	}
}

// unlessSilent answers a call that does not ask for silence.
func unlessSilent(c call) {
	warn()
	if !bytes.Contains(c.args, []byte("silent")) {
		c.reply(text("done"))
	}
}

func warned(f func(grpc.ServerStream) error) func(grpc.ServerStream) error {
	return func(s grpc.ServerStream) error {
		warn()
		return f(s)
	}
}

// chatter reports as fast as it can for as long as the caller wants reports. If the caller
// never did, it waits.
func chatter() tool.Tool {
	return pluginsdk.Func(Tool, "Reports progress for ever.", func(ctx context.Context, _ none) (string, error) {
		warn()
		for i := 0; ; i++ {
			tool.Report(ctx, tool.Progress{Done: float64(i), Message: "still at it\x1b[2J"})
			if i%1000 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
	}, pluginsdk.Safe())
}

// trickle serves an honest plugin over connections that, once a call has come,
// carry a byte every few milliseconds.
func trickle() {
	var slow atomic.Bool
	s := server{conn: func(c net.Conn) net.Conn { return &dripping{Conn: c, slow: &slow} }}
	s.answer = func(c call) {
		warn()
		slow.Store(true)
		c.reply(text("this will take its time, and more than anybody has: a byte, and a byte, and a byte, and a byte"))
	}
	s.speak = func(f *frames, in frame) {
		if in.kind != kindCall {
			return
		}
		warn()
		answer := text("a byte, and a byte, and a byte")[0]
		_ = f.send(kindResult, 0, in.number, 0, len(answer)+1<<10, nil)
		for {
			time.Sleep(5 * time.Millisecond)
			f.mu.Lock()
			_, err := f.lane.Write([]byte{' '})
			f.mu.Unlock()
			if err != nil {
				return
			}
		}
	}
	s.serve()
}

type dripping struct {
	net.Conn
	slow *atomic.Bool
}

func (d *dripping) Write(b []byte) (int, error) {
	if !d.slow.Load() {
		return d.Conn.Write(b)
	}
	for i := range b {
		time.Sleep(100 * time.Millisecond)
		if _, err := d.Conn.Write(b[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(b), nil
}

// hangUp closes what calls come on, and lives on.
func hangUp() {
	var mu sync.Mutex
	var open []net.Conn
	s := server{conn: func(c net.Conn) net.Conn {
		mu.Lock()
		defer mu.Unlock()
		open = append(open, c)
		return c
	}}
	all := func() {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range open {
			_ = c.Close()
		}
	}
	s.answer = func(call) { warn(); all() }
	s.speak = func(f *frames, in frame) {
		if in.kind == kindCall {
			warn()
			_ = f.lane.Close()
			all()
		}
	}
	s.serve()
}

func ledgerTools() []tool.Tool {
	_, err := os.Stat("ledger")
	first := os.IsNotExist(err)
	run := func(name string) func(context.Context, none) (string, error) {
		return func(ctx context.Context, _ none) (string, error) {
			line := name + " " + tool.CallFrom(ctx).ID + "\n"
			f, err := os.OpenFile("ledger", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return "", err
			}
			defer func() { _ = f.Close() }()
			if _, err := f.WriteString(line); err != nil {
				return "", err
			}
			if first {
				<-ctx.Done()
				return "", fmt.Errorf("ended: %w", ctx.Err())
			}
			return "done", nil
		}
	}
	return []tool.Tool{
		pluginsdk.Func(LedgerPID, "Tells the process number.", func(context.Context, none) (int, error) { return os.Getpid(), nil }, pluginsdk.Safe()),
		pluginsdk.Func(LedgerOnce, "Waits the first time.", run(LedgerOnce), pluginsdk.Safe()),
		pluginsdk.Func(LedgerSafe, "Waits the first time, and may be repeated.", run(LedgerSafe), pluginsdk.Safe(), pluginsdk.Idempotent(3)),
	}
}
