// Package tracecontext reads what W3C Trace Context calls traceparent and tracestate
// (https://www.w3.org/TR/trace-context).
package tracecontext

import (
	"strings"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const (
	// Length is that of a traceparent of version 00: 00-TRACE-SPAN-FLAGS.
	Length = 2 + 1 + 32 + 1 + 16 + 1 + 2
	// maxParent and maxState bound what is read, in bytes: what a receiver has to take.
	maxParent, maxState = 512, 512
)

// Valid returns t as version 00 has it, the zero Trace if its parent is not valid, and no state if
// that is too long or not printable.
func Valid(t tool.Trace) tool.Trace {
	p := t.Parent
	if len(p) < Length || len(p) > maxParent || p[2] != '-' || p[35] != '-' || p[52] != '-' ||
		!isHex(p[:2]) || !isHex(p[3:35]) || !isHex(p[36:52]) || !isHex(p[53:55]) ||
		strings.Trim(p[3:35], "0") == "" || strings.Trim(p[36:52], "0") == "" {
		return tool.Trace{}
	}
	switch version := p[:2]; {
	case version == "ff", version == "00" && len(p) > Length, len(p) > Length && p[Length] != '-':
		return tool.Trace{}
	case version != "00":
		t.Parent = "00" + p[2:Length]
	}
	if len(t.State) > maxState || strings.ContainsFunc(t.State, func(r rune) bool { return r < ' ' && r != '\t' || r > '~' }) {
		t.State = ""
	}
	return t
}

// ID returns the trace of a valid parent: 32 hexadecimal digits; empty: there is none.
func ID(parent string) string {
	if parent == "" {
		return ""
	}
	return parent[3:35]
}

// Span returns the span of a valid parent: 16 hexadecimal digits.
func Span(parent string) string { return parent[36:52] }

// IsSampled reports whether the sender of a valid parent may have recorded its span.
func IsSampled(parent string) bool { return strings.IndexByte("13579bdf", parent[Length-1]) >= 0 }

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
