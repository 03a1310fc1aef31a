package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestDemo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "introspection", "quitter")
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var report demoReport
	w.run("demo", "--root", repository, "--json").exits(0).json(&report)
	steps := report.Steps
	want := [][]string{
		{"fs ", "introspection ", "not used: plugin quitter did not start"},
		{" tools: apropos_search, class_hierarchy"},
		{"go.mod (", "module github.com/toolhost/toolhost"},
		{"type Host struct, type in github.com/toolhost/toolhost/host"},
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
			if !strings.Contains(detail, text) {
				t.Errorf("step %d does not show %q but:\n%s", s.Step, text, detail)
			}
		}
	}
}

func TestDemoInEmptyDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "introspection")
	w.run("tools").exits(0) // what is remembered from then on starts no plugin, but in the demo
	o := w.run("demo").exits(0).prints(
		"left out: there is no file", "func Println(", "All 9 steps took", " ms\n")
	if strings.Contains(o.stdout, "\x1b") {
		t.Errorf("colour without a terminal: %q", o.stdout)
	}
}

// With fs alone, fs is the one that is killed.
func TestDemoWithOnePlugin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	w.write("zero.txt", "first line\nsecond line\n")
	w.run("demo").exits(0).prints("zero.txt (23 bytes): first line", "left out: there is no plugin introspection",
		"SIGKILL to fs", "left out: fs is the only plugin", "fs was started again")
}

func TestDemoWithoutItsPlugins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	var report demoReport
	w.run("demo", "--json").exits(6).says("neither the plugin fs nor introspection").json(&report)
	steps := report.Steps
	equal(t, "the number of steps", len(steps), 2) // it is shut down all the same
	equal(t, "whether the first works", steps[0].OK, false)
	equal(t, "whether the last works", steps[1].OK, true)
}
