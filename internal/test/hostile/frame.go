package hostile

import (
	"encoding/binary"
	"io"
	"sync"
)

// The kinds of frames, of docs/plugin-protocol.md.
const (
	kindCall     = 1
	kindResult   = 2
	kindChunk    = 3
	kindWindow   = 4
	kindProgress = 5
	kindCancel   = 6
	kindChanged  = 8
	kindLog      = 9
)

const firstChunk = 1 // a flag

// frame is one that came.
type frame struct {
	kind    byte
	number  uint32
	payload []byte
}

// frames is the plugin's end of a stream of frames. It keeps none of the rules.
type frames struct {
	lane io.ReadWriteCloser
	mu   sync.Mutex
}

// send sends a frame. Its header may claim another size than it has.
func (f *frames) send(kind, flags byte, number uint32, total uint64, claimed int, payload []byte) error {
	head := binary.LittleEndian.AppendUint32(nil, uint32(claimed)) //nolint:gosec // it may be a lie
	head = append(head, kind, flags, 0, 0)
	head = binary.LittleEndian.AppendUint32(head, number)
	if flags&firstChunk != 0 {
		head = binary.LittleEndian.AppendUint64(head, total)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.lane.Write(append(head, payload...))
	return err
}

// put sends a frame that is what it says.
func (f *frames) put(kind byte, number uint32, payload []byte) error {
	return f.send(kind, 0, number, 0, len(payload), payload)
}

// read reads a frame.
func (f *frames) read() (frame, error) {
	var head [12]byte
	if _, err := io.ReadFull(f.lane, head[:]); err != nil {
		return frame{}, err
	}
	if head[5]&firstChunk != 0 {
		var total [8]byte
		if _, err := io.ReadFull(f.lane, total[:]); err != nil {
			return frame{}, err
		}
	}
	in := frame{kind: head[4], number: binary.LittleEndian.Uint32(head[8:]), payload: make([]byte, binary.LittleEndian.Uint32(head[:]))}
	_, err := io.ReadFull(f.lane, in.payload)
	return in, err
}

// converse answers the frames that come until no more do.
func (s server) converse(f *frames) {
	for {
		in, err := f.read()
		if err != nil {
			return
		}
		if s.speak != nil {
			go s.speak(f, in)
			continue
		}
		if in.kind != kindCall {
			continue
		}
		c := parseCall(in.payload)
		c.reply = func(m message) {
			var whole []byte
			for _, piece := range m {
				whole = append(whole, piece...)
			}
			_ = f.put(kindResult, in.number, whole)
		}
		go s.run(c)
	}
}
