package main

import (
	"strings"
	"testing"
)

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line string
		says []string
	}{
		{"tolls", []string{`toolhost: toolhost has no command "tolls"`, "did you mean tools?"}},
		{"xyzzy", []string{`toolhost has no command "xyzzy"`, "it has audit, call"}},
		{"tools shwo x", []string{`toolhost tools has no command "shwo"`, "did you mean show?"}},
		{"plugins list", []string{`toolhost plugins has no command "list"`, "it has disable, enable, lock, restart, show"}},
		{"version 2", []string{`toolhost version takes no arguments, not "2"`, "see toolhost version --help"}},
		{"call", []string{"toolhost call needs the name of a tool", "see toolhost call --help"}},
		{"call a b c", []string{"not 3 words"}},
		{"tools show", []string{"toolhost tools show needs the name of a tool"}},
		{"plugins show a b", []string{"takes one name, not 2"}},
		{"tools --colour", []string{"toolhost: unknown flag: --colour", "  see toolhost tools --help"}},
		{"--colour", []string{"toolhost: unknown flag: --colour", "  see toolhost --help"}},
		{"call a --timeout soon", []string{"--timeout", "see toolhost call --help"}},
		{"call a --timeout -1s", []string{"below zero"}},
		{"call a --grant FS", []string{`"FS" is not a valid capability`, "fs:read"}},
		{"call a --arg path", []string{`--arg "path" is not of the form name=value`}},
		{"call a --arg n=1 --arg n=2", []string{"--arg n is given twice"}},
		{"call a @nowhere.json", []string{"the arguments cannot be read", "nowhere.json"}},
		{"tools --max-safety none", []string{`unknown safety level "none"`, "safe, cautious or dangerous"}},
	} {
		o := inProcess(t, strings.Fields(c.line)...).exits(2).says(c.says...)
		if o.stdout != "" || strings.Contains(o.stderr, "Usage:") {
			t.Errorf("toolhost %s prints its usage:\n%s%s", c.line, o.stdout, o.stderr)
		}
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "--help", "help call", "call --help"} {
		o := inProcess(t, strings.Fields(line)...).exits(0).prints("Usage:")
		equal(t, "standard error", o.stderr, "")
	}
	inProcess(t, "completion", "bash").exits(0).prints("__start_toolhost")
}
