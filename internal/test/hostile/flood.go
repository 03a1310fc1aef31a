package hostile

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // a host's program may have it, so that messages can be bombs
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What a plugin may say too much of.
const (
	Large        plugintest.Mode = "large"        // answers with as many bytes as its argument "bytes" says, by the rules
	Gigabyte     plugintest.Mode = "gigabyte"     // answers with 1 GiB, whatever the rules
	Bomb         plugintest.Mode = "bomb"         // answers with 1 GiB that was compressed to 1 MiB
	Blocks       plugintest.Mode = "blocks"       // answers with a million empty blocks
	StderrLines  plugintest.Mode = "stderrlines"  // writes lines to standard error for ever
	StderrBytes  plugintest.Mode = "stderrbytes"  // writes to standard error for ever, and no line's end
	StderrJSON   plugintest.Mode = "stderrjson"   // writes JSON log lines of the wrong types, and deep ones
	StdoutLines  plugintest.Mode = "stdoutlines"  // writes lines to standard output for ever, after the handshake
	StdioStream  plugintest.Mode = "stdiostream"  // floods go-plugin's own stream of output, if the host opens it
	BrokerStream plugintest.Mode = "brokerstream" // floods go-plugin's broker, if the host opens it; leaves [Dialled]
	Million      plugintest.Mode = "million"      // has a million tools
	LongNames    plugintest.Mode = "longnames"    // has a tool with a name of 1 MiB, and one with such a description
)

func floodModes() map[plugintest.Mode]func() {
	return map[plugintest.Mode]func(){
		Large:    func() { pluginsdk.Main(large()) },
		Gigabyte: gigabyte,
		Bomb:     bomb,
		Blocks: server{answer: func(c call) {
			warn()
			c.reply(message{field(1, bytes.Repeat([]byte{1<<3 | 2, 0}, 1_000_000))})
		}}.serve,
		StderrLines: flooding(func() io.Writer { return os.Stderr }, bytes.Repeat([]byte("one of very many lines\x1b[2J\n"), 2000)),
		StderrBytes: flooding(func() io.Writer { return os.Stderr }, bytes.Repeat([]byte("x"), 64<<10)),
		StdoutLines: flooding(func() io.Writer { return os.Stdout }, bytes.Repeat([]byte("one of very many lines\x1b[2J\n"), 2000)),
		StderrJSON: func() {
			for _, line := range hostileJSON() {
				fmt.Fprintln(os.Stderr, line)
			}
			warn()
			server{}.serve()
		},
		StdioStream: server{rpc: map[string]func(grpc.ServerStream) error{stdioRPC: func(s grpc.ServerStream) error {
			data := bytes.Repeat([]byte("out of go-plugin's own stream\x1b[2J\n"), 2000)
			out := message{{1 << 3, 2}, field(2, data)} // STDERR
			for s.SendMsg(out) == nil {
			}
			return nil
		}}}.serve,
		BrokerStream: server{rpc: map[string]func(grpc.ServerStream) error{brokerRPC: func(s grpc.ServerStream) error {
			leave(Dialled)
			for i := uint64(1); ; i++ {
				if err := s.SendMsg(message{protowire.AppendVarint([]byte{1 << 3}, i)}); err != nil {
					return err
				}
			}
		}}}.serve,
		Million: func() {
			one := bytes.NewBuffer(nil)
			for i := range 1_000_000 {
				def := append(field(1, fmt.Appendf(nil, "t%d", i)), field(3, []byte("x"))...)
				one.Write(field(5, append(def, field(6, []byte("safe"))...)))
			}
			warn()
			server{describe: message{one.Bytes()}}.serve()
		},
		LongNames: func() {
			long := strings.Repeat("\x1b[31mlong", 1<<20/9)
			warn()
			server{describe: message{
				field(5, append(field(1, []byte(long)), field(3, []byte("Has a long name."))...)),
				field(5, append(field(1, []byte("long.description")), field(3, []byte(long))...)),
				field(5, append(field(1, []byte("long.title")), append(field(2, []byte(long)), field(3, []byte("Has a long title."))...)...)),
				honestTool(),
			}}.serve()
		},
	}
}

// honestTool is a piece of a description: [Tool], which answers.
func honestTool() []byte {
	b, err := (&wire.Description{Tools: []tool.Definition{define(Tool)}}).MarshalBinary()
	must(err)
	return b
}

func large() tool.Tool {
	return pluginsdk.Func(Tool, "Answers with so many bytes.", func(_ context.Context, in struct {
		Bytes int `json:"bytes"`
	}) (string, error) {
		warn()
		return strings.Repeat("x", in.Bytes), nil
	}, pluginsdk.Safe())
}

// gigabyte sends 1 GiB, of one buffer again and again: in one gRPC message, or as
// the chunks of one result, for which no window was given.
func gigabyte() {
	const total = 1 << 30
	buf := bytes.Repeat([]byte("x"), 64<<10)
	s := server{answer: func(c call) {
		warn()
		m := make(message, total/len(buf))
		for i := range m {
			m[i] = buf
		}
		c.reply(m)
	}}
	s.speak = func(f *frames, in frame) {
		if in.kind != kindCall {
			return
		}
		warn()
		flags := byte(firstChunk)
		for sent := 0; sent < total; sent += len(buf) {
			if f.send(kindChunk, flags, in.number, total, len(buf), buf) != nil {
				return
			}
			flags = 0
		}
	}
	s.serve()
}

// bomb answers with a message that is 1 GiB when it is decompressed.
func bomb() {
	var member bytes.Buffer // of a gzip file, which may have many
	z := gzip.NewWriter(&member)
	_, err := z.Write(make([]byte, 1<<20))
	must(errors.Join(err, z.Close()))
	encoding.RegisterCompressor(packed(bytes.Repeat(member.Bytes(), 1<<10)))
	s := server{rpc: map[string]func(grpc.ServerStream) error{executeRPC: func(s grpc.ServerStream) error {
		warn()
		if err := grpc.SetSendCompressor(s.Context(), "gzip"); err != nil {
			return err
		}
		return s.SendMsg(text("anything"))
	}}}
	s.about.Features = []string{"none"}
	s.serve()
}

// packed is a compressor of which the output is what it is, whatever comes in.
type packed []byte

func (packed) Name() string { return "gzip" }

func (p packed) Compress(w io.Writer) (io.WriteCloser, error) {
	_, err := w.Write(p)
	return discard{io.Discard}, err
}

func (packed) Decompress(r io.Reader) (io.Reader, error) { return r, nil }

type discard struct{ io.Writer }

func (discard) Close() error { return nil }

// flooding writes for as long as the process lives, from the first call on, and
// answers calls.
func flooding(to func() io.Writer, data []byte) func() {
	return func() {
		started := make(chan struct{}, 1)
		w := to()
		server{answer: func(c call) {
			select {
			case started <- struct{}{}:
				warn()
				go func() {
					for {
						if _, err := w.Write(data); err != nil {
							return
						}
					}
				}()
			default:
			}
			time.Sleep(10 * time.Millisecond) // so that the flood is under way
			c.reply(text("done"))
		}}.serve()
	}
}

// hostileJSON are lines that look like log lines of go-plugin's.
func hostileJSON() []string {
	out := []string{
		`{"@message":42}`, `{"@message":null,"@level":7}`, `{"@level":[],"@message":"x"}`, `{"@timestamp":{},"@message":"x"}`,
		`{"@message":"x","@module":[[[]]],"@timestamp":"yesterday"}`, `{"@message":`, `{}`, `{"@message":"\u001b[2J\ud800"}`,
		strings.Repeat(`{"a":`, 10_000) + `1` + strings.Repeat(`}`, 10_000),
		`{"@message":"x","a":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`,
	}
	many := map[string]any{"@message": "many", "@level": "error"}
	for i := range 1000 {
		many[fmt.Sprint("key", i)] = i
	}
	b, err := json.Marshal(many)
	must(err)
	return append(out, string(b))
}
