package wire

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// A plugin that announces answers that are too large, and never finishes them, cannot
// fill the table: its stream is closed.
func TestStreamRefusedIsNotKept(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		s, p := withPeer(t, carrier, StreamHooks{})
		for range maxAbandoned {
			c := begin(t.Context(), s, tool.Call{Name: "large"})
			number, _ := p.call()
			p.send(first(kindChunk, number, MaxMessage+1, nil))
			_ = wantCode(t, within(t, "the call", c), tool.CodeResourceExhausted)
		}
		c := begin(t.Context(), s, tool.Call{Name: "large"})
		number, _ := p.call()
		_ = p.try(first(kindChunk, number, MaxMessage+1, nil))
		_ = within(t, "the last call", c)
		within(t, "the end of the stream", s.Failed())
		if !errors.Is(s.Err(), ErrProtocol) {
			t.Errorf("the stream ended with %v", s.Err())
		}
	})
}

// Tiny chunks are paced like reports; chunks of normal size are not.
func TestStreamPacesWhatIsIdle(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		paced := make(chan int, 100)
		s, p := withPeer(t, carrier, StreamHooks{Pace: func(n int) { paced <- n }})
		c := begin(t.Context(), s, tool.Call{Name: "x"})
		number, _ := p.call()
		text := make([]byte, maxFrame+1)
		response := textResponse(string(text))
		p.send(first(kindChunk, number, uint64(len(response)), response[:chunkSize]))
		for range 10 {
			p.send(raw(kindWindow, number, binary.LittleEndian.AppendUint32(nil, 1)), raw(kindChunk, number, nil))
		}
		p.send(raw(kindChunk, number, response[chunkSize:2*chunkSize]), raw(kindResult, number, response[2*chunkSize:]))
		wantText(t, within(t, "the call", c), string(text))
		if len(paced) != 20 {
			t.Errorf("%d frames were paced, of 20 that were idle", len(paced))
		}
	})
}

// Empty packets do not keep the host busy forever.
func TestStreamEmptyPackets(t *testing.T) {
	t.Parallel()
	said := make(chan error, 1)
	s, p := withPeer(t, onGRPC, StreamHooks{Failed: func(err error) { said <- err }})
	stream := p.rw.(*packetStream) //nolint:forcetypeassert // it is one
	go func() {
		for stream.g.Send(&pluginv1.Packet{}) == nil { // until the host closes the stream
		}
	}()
	within(t, "the end of the stream", s.Failed())
	if err := within(t, "the hook", said); !errors.Is(err, ErrProtocol) || err != s.Err() { //nolint:errorlint // it is the same
		t.Errorf("the stream ended with %v, and its hook was told %v", s.Err(), err)
	}
}
