package main

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestUsage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		line string
		says []string
	}{
		{"tolls", []string{`toolhost: toolhost has no command "tolls"`, "did you mean tools?"}},
		{"xyzzy", []string{`toolhost has no command "xyzzy"`, "it has approvals, audit, call"}},
		{"stp", []string{`toolhost has no command "stp"`, "it has approvals, audit, call"}},
		{"jobs cancle x", []string{`toolhost jobs has no command "cancle"`, "it has cancel, show"}},
		{"approvals aprove x", []string{"it has approve, deny, show"}},
		{"ps", []string{`toolhost has no command "ps"`, "here it is toolhost plugins"}},
		{"plugins describe x", []string{"here it is toolhost plugins show"}},
		{"tools ls", []string{"here it is toolhost tools"}},
		{"config validate", []string{"here it is toolhost config check"}},
		{"plugins logout x", []string{"here it is toolhost plugins login NAME --forget"}},
		{"tools shwo x", []string{`toolhost tools has no command "shwo"`, "did you mean show?"}},
		{"plugins xyzzy", []string{`toolhost plugins has no command "xyzzy"`, "it has disable, enable, import, install, lock, login"}},
		{"plugins show", []string{"toolhost plugins show needs the name of a plugin"}},
		{"plugins import", []string{"toolhost plugins import needs the file of another MCP client", "see toolhost plugins import --help"}},
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
		{"call a @nowhere.json", []string{"the arguments cannot be read", "nowhere.json"}},
		{"audit --code permission_denid", []string{"is not a code", "did you mean permission_denied?"}},
		{"tools --max-safety none", []string{`unknown safety level "none"`, "safe, cautious or dangerous"}},
	} {
		o := w.bare(strings.Fields(c.line)...).exits(2).says(c.says...)
		if o.stdout != "" || strings.Contains(o.stderr, "Usage:") {
			t.Errorf("toolhost %s prints its usage:\n%s%s", c.line, o.stdout, o.stderr)
		}
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var lock commandHelp
	w.bare("help", "plugins", "lock", "--json").exits(0).json(&lock)
	if lock.Name != "toolhost plugins lock" || len(lock.Flags) == 0 {
		t.Errorf("the help as JSON is %+v", lock)
	}
	w.bare("help", "nope").exits(2).says(`toolhost has no command "nope"`)
	w.bare("nope", "--help").exits(2).says(`toolhost has no command "nope"`)
	w.bare("plugins", "xyzzy", "-h").exits(2).says("it has disable, enable,")
	w.bare("help", "plugins", "lokc").exits(2).says("did you mean lock?")
	w.bare("help", "call", "fs.read").exits(2).says("toolhost call --help")
	w.bare("completion", "bsh").exits(2).says("use bash, fish,")
	for _, args := range [][]string{{"--version"}, {"version"}} {
		w.bare(args...).exits(0).prints("toolhost ", "plugin protocol")
	}
	root := w.bare("--help").exits(0).prints("Every day:\n", "Daemon:\n", "Authors:\n").stdout
	if n := strings.Count(root, "\n"); n > 62 {
		t.Errorf("the help of toolhost has %d lines", n)
	}
	w.bare("__complete", "help", "plugins", "l").exits(0).prints("lock\t")
	for _, line := range []string{"", "--help", "help call", "call --help"} {
		o := w.bare(strings.Fields(line)...).exits(0).prints("Usage:")
		equal(t, "standard error", o.stderr, "")
	}
	w.bare("completion", "bash").exits(0).prints("__start_toolhost")
}

// Without a daemon, each command that needs one exits with the same status and says the same.
func TestNoDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	nowhere := t.TempDir()
	for _, line := range []string{
		"status", "stop", "reload", "fleet", "tools --on x", "approvals", "approvals show x", "approvals approve x", "approvals deny x",
		"jobs", "jobs list", "jobs show x", "jobs show x --wait", "jobs cancel x", "sessions", "sessions end x",
		"top", "call x --session work", "call x --detach", "call x --on host",
	} {
		w.bare(append(strings.Fields(line), "--root", nowhere, "--socket", nowhere+"/none.sock", "--plugin-dir", nowhere)...).
			exits(exit.Unavailable).
			says("no daemon is running on "+nowhere+"/none.sock that this command can use", "start one with toolhost serve")
	}
}

// With --json every failure is one JSON object on standard output, whatever fails.
func TestErrorsAreJSON(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	nowhere := t.TempDir()
	socket := nowhere + "/control.sock"
	for _, c := range []struct {
		line   string
		status int
		code   tool.Code
	}{
		{"tolls --json", 2, exit.CodeUsage},
		{"--json tools --colour", 2, exit.CodeUsage},
		{"tools --colour --json", 2, exit.CodeUsage},
		{"call --json", 2, exit.CodeUsage},
		{"call a --arg n --json", 2, exit.CodeUsage},
		{"tools --max-safety none --json", 2, exit.CodeUsage},
		{"tools --json --config " + nowhere + "/none.yaml", 2, exit.CodeUsage},
		{"tools --json --plugin-dir " + nowhere + "/none", 2, exit.CodeUsage},
		{"tools show x --json --plugin-dir " + nowhere, 3, tool.CodeNotFound},
		{"call x --json --plugin-dir " + nowhere, 3, tool.CodeNotFound},
		{"plugins show x --json --plugin-dir " + nowhere, 2, exit.CodeUsage},
		{"plugins restart x --json --plugin-dir " + nowhere, 2, exit.CodeUsage},
		{"plugins lock --check --json --plugin-dir " + nowhere + " --config " + nowhere + "/none.yaml", 2, exit.CodeUsage},
		{"tools --for yaml --json", 2, exit.CodeUsage},
		{"reload --json --socket " + socket, 6, tool.CodeUnavailable},
		{"config check --json " + nowhere + "/none.yaml", 2, exit.CodeUsage},
		{"config init --json " + nowhere + "/none/none.yaml", 1, exit.CodeFailed},
		{"help nope --json", 2, exit.CodeUsage},
	} {
		o := w.bare(strings.Fields(c.line)...).exits(c.status).says("toolhost: ")
		var got struct {
			Error output.Failure `json:"error"`
		}
		o.json(&got)
		equal(t, "the code of "+c.line, got.Error.Code, c.code)
		if got.Error.Message == "" || !strings.Contains(o.stderr, got.Error.Message) {
			t.Errorf("toolhost %s: the message is %q, and standard error has %q", c.line, got.Error.Message, o.stderr)
		}
		if c.status == exit.BadUsage && got.Error.Hint == "" {
			t.Errorf("toolhost %s gives no hint", c.line)
		}
	}
}

// The help of every command fits on a terminal of 80 columns, and its placeholders look alike.
func TestHelpIsNarrow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var visit func(words []string, cmd *cobra.Command)
	visit = func(words []string, cmd *cobra.Command) {
		o := w.bare(append(words, "--help")...).exits(0)
		for line := range strings.Lines(o.stdout) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("toolhost %q prints a line of %d columns: %s", words, n, line)
			}
		}
		if cmd.Runnable() && !cmd.Hidden && !cmd.HasExample() && cmd.HasParent() && cmd.Name() != "dev" {
			t.Errorf("toolhost %q has no example", words)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if name, _ := pflag.UnquoteUsage(f); name != strings.ToUpper(name) {
				t.Errorf("toolhost %q: the placeholder of --%s is %s, not %s", words, f.Name, name, strings.ToUpper(name))
			}
		})
		for _, sub := range cmd.Commands() {
			visit(append(slices.Clone(words), sub.Name()), sub)
		}
	}
	visit(nil, newRootCommand(session.New(nil, nil, nil), func() {}))
}
