package main

import (
	"strings"
	"testing"
)

// A rate limit counts the calls of commands: alone, by a daemon, and in whatever order they come.
func TestRateOfCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.configure("tools:", "  play.echo: {rename: alone, rate: 3/1h}", "  play.control: {rename: served, rate: 3/1h}", "  play.fail: {rename: mixed, rate: 3/1h}")
	passed := func(n int, tool string, args ...string) (passed int) {
		for range n {
			o := w.run(append([]string{"call", tool}, args...)...)
			switch o.status {
			case 0, 1:
				passed++
			case 5:
				o.says("too many calls of tool "+tool+": 3 in 1h", "try again in ")
			default:
				t.Errorf("status %d: %s", o.status, o.stderr)
			}
		}
		return passed
	}
	equal(t, "the number of 6 calls of commands alone that passed", passed(6, "alone"), 3)
	equal(t, "the number of calls alone that passed", passed(2, "mixed"), 2)
	w.serve()
	equal(t, "the number of 6 calls by the daemon that passed", passed(6, "served"), 3)
	equal(t, "the number of calls that passed after 2 alone", passed(3, "mixed"), 1)
	equal(t, "the number of calls alone that passed after the daemon's", passed(2, "served", "--no-daemon"), 0)

	o := w.run("audit", "--caller", "cli", "--code", "rate_limited", "--json").exits(0)
	equal(t, "the number of refused calls on record", strings.Count(o.stdout, "\n"), 3+3+2+2)
	equal(t, "the number of records with a session", strings.Count(o.stdout, `"caller":"cli","session":"`), 3+3+2+2)
}
