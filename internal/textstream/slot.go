// Package textstream holds the text that a tool's handler writes while it runs, and hands it on as
// it comes. A call's context offers a [Slot]; package tool writes to its [Writer].
package textstream

import "sync/atomic"

// Slot is where a call keeps what its handler streams. Whoever offers it in the context of a call,
// under callctx.Stream, calls Take when the handler has returned. The zero value is empty. A Slot
// costs a call that streams nothing no allocation.
type Slot struct {
	// Sink takes the text as it comes; nil: it is wanted only when the handler has returned.
	Sink *Sink

	writer atomic.Pointer[Writer]
}

// Sink takes text as it comes.
type Sink struct {
	// Show takes the next piece. It must not call the writer, and keeps nothing of it.
	Show func(text string)
	// Flush is called after Show, without a lock, by the goroutine that wrote the text. Nil: nothing
	// is to be done.
	Flush func()
	// Window is how many bytes Show takes before [Slot.Accept] lets it have more. 0: any number.
	Window int
}

// Writer returns the writer of the attempt that runs.
func (s *Slot) Writer() *Writer {
	if w := s.writer.Load(); w != nil {
		return w
	}
	w := &Writer{sink: s.Sink}
	if s.Sink != nil {
		w.window = s.Sink.Window
	}
	if s.writer.CompareAndSwap(nil, w) {
		return w
	}
	return s.Writer()
}

// Take ends the writer and returns what was written. Another attempt begins with an empty slot.
func (s *Slot) Take() string {
	w := s.writer.Load()
	if w == nil {
		return ""
	}
	s.writer.CompareAndSwap(w, nil)
	return w.end()
}

// Accept lets the sink have more bytes. Flush is not called: the caller does what it takes.
func (s *Slot) Accept(bytes int) {
	if w := s.writer.Load(); w != nil {
		w.accept(bytes)
	}
}
