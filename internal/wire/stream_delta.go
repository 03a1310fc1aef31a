package wire

import (
	"encoding/binary"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// deltas is the text of a call that has arrived and that its caller has not taken. A nil one is of
// a caller that wants none.
type deltas struct {
	show  func(tool.Delta)
	there chan struct{} // has a token if there is text

	mu     sync.Mutex
	text   strings.Builder
	window int // bytes that the plugin may still send
	total  int // bytes that arrived
}

// newDeltas returns nil for a caller that wants none.
func newDeltas(show func(tool.Delta)) *deltas {
	if show == nil {
		return nil
	}
	return &deltas{show: show, there: make(chan struct{}, 1), window: deltaWindow}
}

// arrived returns a channel that can be received from when there is text.
func (d *deltas) arrived() <-chan struct{} {
	if d == nil {
		return nil
	}
	return d.there
}

// deliver hands the caller the text that is there, and returns how many bytes that is.
func (d *deltas) deliver() int {
	if d == nil {
		return 0
	}
	d.mu.Lock()
	text := d.text.String()
	d.text.Reset()
	d.mu.Unlock()
	if text != "" {
		d.show(tool.Delta{Text: text})
	}
	return len(text)
}

// add keeps a piece for the caller.
//
// # Errors
//
// add returns [ErrProtocol] for more than the plugin may send.
func (d *deltas) add(text string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(text) > d.window {
		return protocolError("a delta of %d bytes in a window of %d", len(text), d.window)
	}
	if d.total += len(text); d.total > MaxMessage {
		return protocolError("more than %d MiB of deltas of one call", MaxMessage>>20)
	}
	d.window -= len(text)
	d.text.WriteString(text)
	select {
	case d.there <- struct{}{}:
	default:
	}
	return nil
}

// accept lets the plugin send more of a call's text.
func (s *Stream) accept(number uint32, bytes int) {
	s.mu.Lock()
	k := s.calls[number]
	if k != nil && k.deltas != nil && bytes > 0 {
		k.deltas.mu.Lock()
		k.deltas.window += bytes
		k.deltas.mu.Unlock()
	}
	s.mu.Unlock()
	if k == nil || k.deltas == nil || bytes == 0 {
		return
	}
	s.out.control(kindMore, number, binary.LittleEndian.AppendUint32(nil, uint32(bytes))) //nolint:gosec // at most deltaWindow
	s.out.flushAsync()
}

// delta keeps a piece of a call's text for its caller.
//
// # Errors
//
// delta returns [ErrProtocol] if the call is over, did not ask for it, or sends too much.
func (s *Stream) delta(number uint32, b []byte) error {
	text, err := parseDelta(b)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.calls[number]
	switch {
	case k == nil:
		return protocolError("a delta of a call that was not made or is answered already (number %d)", number)
	case k.abandoned: // the plugin does not know yet
		return nil
	case k.deltas == nil:
		return protocolError("a delta of a call whose caller wants none (number %d)", number)
	}
	return k.deltas.add(text)
}
