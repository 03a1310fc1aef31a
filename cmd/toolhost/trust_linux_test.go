package main

import (
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/internal/test/assert"
)

// What a file grants is shown on the terminal before the question.
func TestTrustAsks(t *testing.T) {
	t.Parallel()
	for answer, status := range map[string]int{"y": exit.Done, "n": exit.Refused} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "player")
			w.found("callers: {cli: {grants: [exec]}}\ntools: {play.danger: {approval: allow}}\n")
			a := w.ask("trust")
			asked := a.question()
			for _, want := range []string{w.config(), "grants the caller cli: exec", "says yes to every call of play.danger", "Trust it?"} {
				assert.Containsf(t, asked, want, "it does not show %q", want)
			}
			a.answer(answer + "\n").exits(status)
			w.run("call", "play.danger").exits(status)
		})
	}
}
