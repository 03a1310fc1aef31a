//go:build linux && !amd64

package main

import "github.com/toolhost/toolhost/internal/test/escape"

// compat are attempts that only amd64 has.
func compat() map[string]func(*escape.World) escape.Answer {
	none := func(*escape.World) escape.Answer {
		return escape.Answer{Outcome: escape.Unavailable, Note: "the processor has none"}
	}
	return map[string]func(*escape.World) escape.Answer{"calls-i386": none, "calls-x32": none, "descriptor-table": none}
}
