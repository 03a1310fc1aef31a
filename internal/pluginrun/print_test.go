package pluginrun_test

import (
	"fmt"
	"github.com/toolhost/toolhost/internal/journal"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/plugintest"
)

// awaitLine returns the line of a journal that contains a text.
func awaitLine(t *testing.T, j *journal.Journal, text string) journal.Entry {
	t.Helper()
	late := time.After(ceiling)
	for {
		lines, more := j.Since(0)
		if i := slices.IndexFunc(lines, func(l journal.Entry) bool { return strings.Contains(l.Text, text) }); i >= 0 {
			return lines[i]
		}
		select {
		case <-more:
		case <-late:
			t.Fatalf("%q is not in the journal: %+v", text, lines)
		}
	}
}

// What a plugin logs, by whatever package, has its level and its attributes in the plugin's log;
// and what it prints to standard output at any time is there too, and harms nothing.
func TestLogsOfAPlugin(t *testing.T) {
	t.Parallel()
	for _, carrier := range []plugin.Carrier{plugin.Stream, plugin.Socket, plugin.Unary} {
		t.Run(string(carrier), func(t *testing.T) {
			t.Parallel()
			var j journal.Journal
			p := open(t, plugintest.Printing, func(c *pluginrun.Config) { c.Journal, c.Carrier = &j, carrier })
			for way, want := range map[string]journal.Entry{
				"tool":      {Level: "warn", Text: `by tool k=1`, Call: "test"},
				"slog":      {Level: "error", Text: "by slog k=1 msg=own"},
				"call":      {Level: "warn", Text: "by slog of a call g.k=v", Call: "test"},
				"with":      {Level: "debug", Text: `by slog with more k=1 g.k="two words"`},
				"own slog":  {Level: "warn", Text: "by its own slog k=1"},
				"text slog": {Level: "warn", Text: "by its own slog in text k=1"},
				"hclog":     {Level: "warn", Text: "by hclog k=1"},
				"own hclog": {Level: "error", Text: "by its own hclog: k=1"},
				"log":       {Level: "info", Text: "by log"},
				"own log":   {Level: "info", Text: "by its own log"},
				"print":     {Level: "info", Text: "printed in a call"},
				"child":     {Level: "info", Text: "printed by a child in a call"},
			} {
				call(t, p, "log", fmt.Sprintf(`{"way":%q}`, way))
				if carrier == plugin.Unary {
					want.Call = "" // a line of a call has no way of its own
				}
				got := awaitLine(t, &j, want.Text)
				if got.Level != want.Level || got.Text != want.Text || got.Call != want.Call || got.PID == 0 {
					t.Errorf("%s: %+v, want %+v", way, got, want)
				}
			}
			for _, text := range []string{"early from Go", "early from a child", "early, and no newline"} {
				if l := awaitLine(t, &j, text); l.Text != text || l.Level != "info" {
					t.Errorf("%+v, want %s", l, text)
				}
			}
			if l := awaitLine(t, &j, "prints to standard output"); l.Event == "" || l.Level != "warn" {
				t.Errorf("the hint: %+v", l)
			}
		})
	}
}
