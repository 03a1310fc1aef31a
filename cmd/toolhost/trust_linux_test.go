package main

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
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
				if !strings.Contains(asked, want) {
					t.Errorf("it does not show %q:\n%s", want, asked)
				}
			}
			a.answer(answer + "\n").exits(status)
			w.run("call", "play.danger").exits(status)
		})
	}
}
