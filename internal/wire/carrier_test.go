package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// unknown returns a packet as a later version's encoder writes it.
func unknown(data []byte) *pluginv1.Packet {
	m := &pluginv1.Packet{Data: data}
	m.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, 77, protowire.BytesType), "later"))
	return m
}

// Another encoder may split the stream into packets anywhere.
func TestPacketBorders(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(p *packetStream, b []byte) error{
		"one byte each": func(p *packetStream, b []byte) error {
			for i := range b {
				if err := p.g.Send(&pluginv1.Packet{Data: b[i : i+1]}); err != nil {
					return err
				}
			}
			return nil
		},
		"empty ones between": func(p *packetStream, b []byte) error {
			for i := 0; i < len(b); i += 7 {
				err := errors.Join(p.g.Send(&pluginv1.Packet{}), p.g.Send(&pluginv1.Packet{Data: b[i:min(i+7, len(b))]}),
					p.g.Send(unknown(nil)))
				if err != nil {
					return err
				}
			}
			return nil
		},
		"unknown fields": func(p *packetStream, b []byte) error {
			return errors.Join(p.g.Send(unknown(b[:len(b)/2])), p.g.Send(unknown(b[len(b)/2:])))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// To a host, and to a plugin.
			s, p := withPeer(t, onGRPC, StreamHooks{})
			c := begin(t.Context(), s, tool.Call{Name: "x", Arguments: []byte("{}")})
			number, _ := p.call()
			require.NoError(t, send(p.rw.(*packetStream), raw(kindResult, number, textResponse("across borders"))))
			wantText(t, within(t, "the call", c), "across borders")

			h, _ := withHost(t, onGRPC, handlers{"echo": echo})
			args := strings.Repeat("a", 200)
			require.NoError(t, send(h.rw.(*packetStream), raw(kindCall, 5,
				requestOf(tool.Call{Name: "echo", Arguments: []byte(args)}))))
			_, o := h.result()
			wantText(t, o, args)
		})
	}
}

// The generated code reads what our codec writes, and vice versa.
func TestPacketCodec(t *testing.T) {
	t.Parallel()
	c := newCodec()
	for _, p := range []*packet{
		{}, {head: []byte("h")}, {body: [][]byte{[]byte("b")}},
		{head: bytes.Repeat([]byte("h"), 200), body: [][]byte{bytes.Repeat([]byte("b"), 100_000), []byte("c")}},
	} {
		want := append(bytes.Clone(p.head), bytes.Join(p.body, nil)...)
		out := require.Must(c.Marshal(p))(t)
		var m pluginv1.Packet
		if err := proto.Unmarshal(out.Materialize(), &m); err != nil || !bytes.Equal(m.GetData(), want) {
			t.Errorf("%d bytes came as %d, %v", len(want), len(m.GetData()), err)
		}
		for _, m := range []*pluginv1.Packet{{Data: want}, unknown(want)} {
			theirs := require.Must(c.CodecV2.Marshal(m))(t)
			var in packet
			if err := c.Unmarshal(theirs, &in); err != nil || !bytes.Equal(in.data, want) {
				t.Errorf("%d bytes came as %d, %v", len(want), len(in.data), err)
			}
		}
	}
	out, err := c.CodecV2.Marshal(&pluginv1.Text{Text: "\x01\x02\x03"}) // the same shape
	if err == nil {
		var in packet
		err = c.Unmarshal(out, &in)
	}
	assert.NoError(t, err)
}

// sent is a gRPC stream that records what is sent.
type sent struct{ sizes []int }

func (s *sent) RecvMsg(any) error { return io.EOF }
func (s *sent) SendMsg(m any) error {
	p, ok := m.(*packet)
	if !ok {
		return fmt.Errorf("a %T", m)
	}
	s.sizes = append(s.sizes, len(p.head)+len(bytes.Join(p.body, nil)))
	return nil
}

// Each packet is within gRPC's limit, however much is queued.
func TestPipeSendsPieces(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, maxPacket, maxPacket + 1, 3*maxPacket + 5, MaxMessage + 1} {
		s := &sent{}
		require.NoError(t, (&pipe{stream: s}).Send(make([]byte, size), [][]byte{make([]byte, 10)}))
		total := 0
		for _, n := range s.sizes {
			if total += n; n > maxPacket+maxFrame {
				t.Errorf("of %d bytes, %d are one packet", size, n)
			}
		}
		if total != size+10 {
			t.Errorf("%d bytes became %d", size+10, total)
		}
	}
}
