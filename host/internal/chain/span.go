package chain

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"

	"github.com/toolhost/toolhost/internal/tracecontext"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Join makes the call a part of the trace that its context names. One that is not valid is ignored, as
// W3C Trace Context has it. With sampled, which is that of the hooks, the call is a span of the
// trace, or of a new one, and the parent of what it leads to.
func (t *Trace) Join(sampled func([16]byte) bool) {
	t.joined, t.passed = true, tracecontext.Valid(tool.TraceFrom(t.Context))
	if sampled == nil {
		return
	}
	var id [16]byte
	var own [8]byte
	in := t.passed.Parent
	if in == "" {
		binary.NativeEndian.PutUint64(id[:], rand.Uint64())
		binary.NativeEndian.PutUint64(id[8:], rand.Uint64()|1) // never zero
	} else {
		t.parentSpan = tracecontext.Span(in)
		_, _ = hex.Decode(id[:], []byte(tracecontext.ID(in)))
	}
	binary.NativeEndian.PutUint64(own[:], rand.Uint64()|1)
	b := [tracecontext.Length]byte{0: '0', 1: '0', 2: '-', 35: '-', 52: '-', 53: '0', 54: '0'}
	hex.Encode(b[3:], id[:])
	hex.Encode(b[36:], own[:])
	if (in == "" || tracecontext.IsSampled(in)) && sampled(id) {
		b[54] = '1'
	}
	t.passed.Parent = string(b[:])
}

// TraceID returns the trace of the call: 32 hexadecimal digits; empty: there is none.
func (t *Trace) TraceID() string { return tracecontext.ID(t.passed.Parent) }
