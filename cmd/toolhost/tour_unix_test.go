//go:build unix

package main

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
)

// Every command in docs/tour.md works, and every tool is in it. A daemon serves the commands in
// the repository, so that its code is loaded once.
func TestTour(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "tour.md"))
	if err != nil {
		t.Fatal(err)
	}
	tour := string(page)
	w := newWorld(t, shipped...)
	program := filepath.Join(built.dir, "toolhost")
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	w.configure("plugins:", "  introspection: {sandbox: {level: strict}}", "  execution: {sandbox: {level: strict}}")
	w.env = append(w.env, session.ConfigVariable+"="+w.config())
	w.serve("--root", repository, "--grant", "fs:read,exec")
	called := map[string]bool{}
	for line := range strings.Lines(tour) {
		command, ours := strings.CutPrefix(strings.TrimSpace(line), "bin/toolhost ")
		if !ours {
			continue
		}
		called[strings.Fields(command)[1]] = true
		command = strings.ReplaceAll(command, "--root bin ", "--root "+w.root+" ")
		cmd := exec.CommandContext(t.Context(), "sh", "-c", program+" "+command+" --plugin-dir "+w.plugins) //nolint:gosec // the README's
		cmd.Dir, cmd.Env, cmd.WaitDelay = repository, w.env, time.Second
		if out, err := cmd.CombinedOutput(); err != nil || len(out) == 0 {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
	var tools []struct{ Name string }
	if err := json.Unmarshal([]byte(w.run("tools", "--json").exits(0).stdout), &tools); err != nil {
		t.Fatal(err)
	}
	for _, x := range tools {
		if !called[x.Name] {
			t.Errorf("the tour does not call %s, of %v", x.Name, slices.Sorted(maps.Keys(called)))
		}
	}
}
