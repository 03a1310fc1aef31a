package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// The demo shows each step on a module like this one, and on less: without files, with one plugin and
// with neither of its own.
func TestDemo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "introspection", "quitter")
	w.write("go.mod", "module github.com/toolhost/toolhost\n\ngo 1.26\n")
	require.NoError(t, os.Mkdir(filepath.Join(w.root, "host"), 0o700))
	w.write("host/host.go", "package host\n\n// Host is what the demo looks for.\ntype Host struct{}\n")
	steps := w.demo(0)
	want := [][]string{
		{"fs ", "introspection ", "not used: plugin quitter did not start"},
		{" tools: apropos_search, class_hierarchy"},
		{"go.mod (", "module github.com/toolhost/toolhost"},
		{"type Host struct", ", type in github.com/toolhost/toolhost/host"},
		{"permission_denied", "invalid_arguments", "not_found"},
		{"SIGKILL to introspection", "crashed: plugin introspection crashed while it ran describe_symbol: killed by SIGKILL"},
		{"fs answers as before"},
		{"introspection was started again"},
		{"3 processes are gone"},
	}
	if len(steps) != len(want) {
		t.Fatalf("there are %d steps, want %d", len(steps), len(want))
	}
	for i, s := range steps {
		detail := strings.Join(s.Detail, "\n")
		equal(t, "the step", s.Step, i+1)
		equal(t, "whether "+s.Title+" works", s.OK, true)
		for _, text := range want[i] {
			assert.Containsf(t, detail, text, "step %d does not show %q but", s.Step, text)
		}
	}

	// With fs alone, fs is the one that is killed.
	one := newWorld(t, "fs")
	one.run("tools").exits(0) // what is remembered from then on starts no plugin, but in the demo
	one.run("demo").exits(0).prints("left out: there is no file", "All 9 steps took", " ms\n")
	one.write("zero.txt", "first line\nsecond line\n")
	o := one.run("demo").exits(0).prints("zero.txt (23 bytes): first line", "left out: there is no plugin introspection",
		"SIGKILL to fs", "left out: fs is the only plugin", "fs was started again")
	assert.NotContainsf(t, o.stdout, "\x1b", "colour without a terminal")

	none := newWorld(t, "player")
	steps = none.demo(6, "neither the plugin fs nor introspection")
	equal(t, "the number of steps", len(steps), 2) // it is shut down all the same
	equal(t, "whether the first works", steps[0].OK, false)
	equal(t, "whether the last works", steps[1].OK, true)
}

// demo returns the steps that a demo reports.
func (w *world) demo(status int, says ...string) []demoStep {
	w.t.Helper()
	var report demoReport
	w.run("demo", "--json").exits(status).says(says...).json(&report)
	return report.Steps
}

// Where there is no module, the symbol is one of the standard library.
func TestDemoInEmptyDirectory(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 4 s to read the standard library: .ci/long runs it")
	}
	w := newWorld(t, "fs", "introspection")
	w.run("demo").exits(0).prints("left out: there is no file", "func Println(", "All 9 steps took", " ms\n")
}
