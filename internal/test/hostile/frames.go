package hostile

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"

	"github.com/toolhost/toolhost/internal/test/plugintest"
)

// How a plugin may break the rules of the stream. Each does it when a call comes,
// and only where calls travel on frames.
const (
	HugeFrame     plugintest.Mode = "hugeframe"     // sends a frame that claims 4 GiB
	HugeTotal     plugintest.Mode = "hugetotal"     // begins a message of 2^64-1 bytes
	NoWindow      plugintest.Mode = "nowindow"      // sends results of 60 MiB, to three calls at once, without waiting for windows
	ManyMessages  plugintest.Mode = "manymessages"  // begins messages of 60 MiB for calls that were never made
	TwoAnswers    plugintest.Mode = "twoanswers"    // answers a call twice
	StrangeAnswer plugintest.Mode = "strangeanswer" // answers a call that was never made
	HostFrames    plugintest.Mode = "hostframes"    // sends frames that only a host sends
	UnknownFrames plugintest.Mode = "unknownframes" // sends frames of an unknown kind for ever, and answers
	WindowFrames  plugintest.Mode = "windowframes"  // sends windows for ever, and answers
	ChangeFrames  plugintest.Mode = "changeframes"  // says for ever that its tools have changed, and answers
	LogFrames     plugintest.Mode = "logframes"     // sends log records for ever, and answers
	BadFrames     plugintest.Mode = "badframes"     // sends a progress report that cannot be read
	HalfFrame     plugintest.Mode = "halfframe"     // exits with 6 within a frame
	NotReading    plugintest.Mode = "notreading"    // reads nothing any more after the first call
)

func frameModes() map[plugintest.Mode]func() {
	return map[plugintest.Mode]func(){
		HugeFrame: breaking(func(f *frames, number uint32) { _ = f.send(kindResult, 0, number, 0, math.MaxUint32, nil) }),
		HugeTotal: breaking(func(f *frames, number uint32) {
			_ = f.send(kindChunk, firstChunk, number, math.MaxUint64, 1, []byte("x"))
		}),
		NoWindow: breaking(func(f *frames, number uint32) {
			buf := make([]byte, 64<<10)
			flags := byte(firstChunk)
			for sent := 0; sent < 50<<20; sent += len(buf) { // and it never ends
				if f.send(kindChunk, flags, number, 60<<20, len(buf), buf) != nil {
					return
				}
				flags = 0
			}
		}),
		ManyMessages: breaking(func(f *frames, _ uint32) {
			for number := uint32(1000); ; number++ {
				if f.send(kindChunk, firstChunk, number, 60<<20, 1, []byte("x")) != nil {
					return
				}
			}
		}),
		TwoAnswers: breaking(func(f *frames, number uint32) {
			answer := text("done")[0]
			_ = f.put(kindResult, number, answer)
			_ = f.put(kindResult, number, answer)
		}),
		StrangeAnswer: breaking(func(f *frames, number uint32) { _ = f.put(kindResult, number+1000, text("done")[0]) }),
		HostFrames:    breaking(func(f *frames, number uint32) { _ = f.put(kindCall, number, nil) }),
		BadFrames:     breaking(func(f *frames, number uint32) { _ = f.put(kindProgress, number, bytes.Repeat([]byte{0xff}, 100)) }),
		HalfFrame: breaking(func(f *frames, number uint32) {
			_ = f.send(kindResult, 0, number, 0, 1000, []byte("half"))
			os.Exit(6)
		}),
		UnknownFrames: spamming(200, bytes.Repeat([]byte("x"), 128<<10)),
		WindowFrames:  spamming(kindWindow, binary.LittleEndian.AppendUint32(nil, math.MaxUint32)),
		ChangeFrames:  spamming(kindChanged, nil),
		LogFrames:     spamming(kindLog, append(field(1, []byte("error")), field(2, []byte("over and over\x1b[2J"))...)),
		NotReading:    notReading,
	}
}

// breaking does something when a call comes on a stream.
func breaking(do func(f *frames, number uint32)) func() {
	return server{speak: func(f *frames, in frame) {
		if in.kind == kindCall {
			warn()
			do(f, in.number)
		}
	}}.serve
}

// spamming sends frames of a kind from the first call on, for as long as the host reads
// them, and answers calls.
func spamming(kind byte, payload []byte) func() {
	started := make(chan struct{}, 1)
	return server{speak: func(f *frames, in frame) {
		if in.kind != kindCall {
			return
		}
		_ = f.put(kindResult, in.number, text("done")[0])
		select {
		case started <- struct{}{}:
			warn()
			for f.put(kind, 0, payload) == nil {
			}
		default:
		}
	}}.serve
}

// notReading stops reading frames when the first has come. It answers nothing.
func notReading() {
	s := server{}
	s.speak = func(f *frames, _ frame) {
		warn()
		f.mu.Lock()
		plugintest.Hang()
	}
	s.serve()
}
