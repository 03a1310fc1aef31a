package wire

import (
	"encoding/binary"

	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/internal/textstream"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// deltas returns what takes the text that a handler streams: the host, as it comes. Text that the
// host does not take yet is in the result anyway.
func (r *run) deltas() *textstream.Sink {
	return &textstream.Sink{
		Show:   func(text string) { r.service.out.control(kindDelta, r.number, encodeDelta(text)) },
		Flush:  r.service.flush,
		Window: deltaWindow,
	}
}

// accepted lets a call send more of its text.
func (v *service) accepted(number uint32, b []byte) error {
	if len(b) != 4 {
		return protocolError("a delta window of %d bytes", len(b))
	}
	v.mu.Lock()
	call := v.runs[number]
	v.mu.Unlock()
	if call != nil && call.streamed.Sink != nil {
		call.streamed.Accept(int(min(binary.LittleEndian.Uint32(b), deltaWindow)))
		v.out.flushAsync()
	}
	return nil
}

// encodeDelta encodes a Delta. It uses the generated code, as each has cost a frame anyway.
func encodeDelta(text string) []byte { return appendMessage(nil, &pluginv1.Delta{Text: text}) }

// parseDelta decodes a Delta.
func parseDelta(b []byte) (text string, err error) {
	var p pluginv1.Delta
	if err := proto.Unmarshal(b, &p); err != nil {
		return "", protocolError("a delta that cannot be read: %v", err)
	}
	return p.GetText(), nil
}
