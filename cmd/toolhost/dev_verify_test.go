package main

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/verify"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// The plugins that ship with it pass, and their dangerous tools are not called. With -short, one does: how
// each check goes is for the tests of verify.
func TestPluginVerifyShipped(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"fs", "buffer", "execution", "introspection"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "fs" && testing.Short() {
				t.Skip("it takes the processor for seconds, introspection for half a minute")
			}
			w := newWorld(t, name)
			var r verify.Report
			w.bare("dev", "verify", filepath.Join(w.plugins, name), "--timeout", "60s", "--json").exits(exit.Done).json(&r)
			if r.Failed != 0 || r.Passed < 60 || r.Plugin != name {
				t.Errorf("%s: %s", r.Plugin, r.Summary())
			}
			for _, dangerous := range []string{"fs.delete", "fs.write", "write_file", "eval_form"} {
				if slices.Contains(r.Called, dangerous) {
					t.Errorf("%s was called", dangerous)
				}
			}
		})
	}
}

// What is found is named, with what to do, for people and for continuous integration.
func TestPluginVerifyFinds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "quitter", "future")
	report := filepath.Join(w.tmp, "report.xml")
	o := w.bare("dev", "verify", filepath.Join(w.plugins, "quitter"), "--junit", report).exits(exit.Failed)
	o.prints("handshake.line", "exit status 3", "no license", "docs/plugin-protocol.md#handshake").says("a check failed: handshake.line")
	text := require.Must(os.ReadFile(report))(t)
	var suites struct {
		Suites []struct {
			Name     string `xml:"name,attr"`
			Failures int    `xml:"failures,attr"`
		} `xml:"testsuite"`
	}
	require.NoError(t, xml.Unmarshal(text, &suites))
	if len(suites.Suites) < 10 || suites.Suites[0].Failures != 1 {
		t.Errorf("the JUnit report has %+v", suites)
	}
	assert.NoError(t, os.Remove(report))
	w.bare("dev", "verify", filepath.Join(w.plugins, "future"), "--check", "handshake.version").exits(exit.Failed).prints("not 1")
}

// The workspace and the tools are those that the author names.
func TestPluginVerifyCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	var r verify.Report
	w.bare("dev", "verify", filepath.Join(w.plugins, "fs"), "--root", w.root, "--check", "calls.valid", "--json",
		"--call", `fs.write={"path":"new.txt","content":"x"}`).exits(exit.Done).json(&r)
	if !slices.Contains(r.Called, "fs.write") || len(r.Checks) != 1 {
		t.Errorf("called %v in %d checks", r.Called, len(r.Checks))
	}
	if _, err := os.Stat(filepath.Join(w.root, "new.txt")); err != nil {
		t.Error(err)
	}
}

// With --fast the long checks are named, and not made. What cannot be tried says why, also by what it needs.
func TestPluginVerifyFast(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	var r verify.Report
	w.bare("dev", "verify", filepath.Join(w.plugins, "fs"), "--fast", "--json",
		"--check", "calls.valid", "--check", "sandbox.*", "--check", "resources.kept").exits(exit.Done).json(&r)
	for _, c := range r.Checks {
		if c.ID != "calls.valid" && (c.Outcome != verify.Skip || c.Why != "--fast leaves it out") {
			t.Errorf("%s is %s: %s", c.ID, c.Outcome, c.Why)
		}
	}
	if r.Skipped != 4 || r.Passed != 1 {
		t.Error(r.Summary())
	}
}

func TestPluginVerifyUsage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	list := w.bare("dev", "verify", "--list").exits(exit.Done).prints("handshake.line", "shutdown.ends").stdout
	if n := strings.Count(list, "\n"); n != len(verify.Checks())+1 {
		t.Errorf("--list has %d lines, for %d checks", n, len(verify.Checks()))
	}
	var all []struct{ Group, ID, See string }
	w.bare("dev", "verify", "--list", "--json").exits(exit.Done).json(&all)
	if len(all) != len(verify.Checks()) || all[0].Group != "handshake" {
		t.Errorf("--list --json has %d", len(all))
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{}, "takes one file, or --list"},
		{[]string{"x", "--list"}, "takes one file, or --list"},
		{[]string{"no-such-file"}, "there is no file no-such-file"},
		{[]string{"x", "--group", "handshakes"}, "unknown group"},
		{[]string{"x", "--check", "["}, "malformed pattern"},
		{[]string{"x", "--check", "none.*"}, "no check fits none.*"},
		{[]string{"x", "--call", "fs.read"}, "is not TOOL=JSON"},
		{[]string{"x", "--plugin-config", "[]"}, "is not a JSON object"},
		{[]string{"x", "--timeout", "0s"}, "is not above zero"},
		{[]string{"x", "--fast", "--long"}, "none of the others can be"},
	} {
		w.bare(append([]string{"dev", "verify"}, c.args...)...).exits(exit.BadUsage).says(c.says)
	}
}
