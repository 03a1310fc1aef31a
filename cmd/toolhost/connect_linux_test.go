package main

import (
	"os"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
)

// The change is shown on the terminal before the question, and made after a yes alone.
func TestConnectAsks(t *testing.T) {
	t.Parallel()
	for answer, status := range map[string]int{"y": exit.Done, "n": exit.Refused} {
		w := newWorld(t)
		home := w.atHome()
		a := w.ask("connect", "cursor")
		if asked := a.question(); !strings.Contains(asked, home(".cursor/mcp.json")) || !strings.Contains(asked, `"toolhost"`) {
			t.Errorf("it shows %s", asked)
		}
		a.answer(answer + "\n").exits(status)
		if _, err := os.Stat(home(".cursor/mcp.json")); (err == nil) != (status == exit.Done) {
			t.Errorf("%s: %v", answer, err)
		}
	}
}
