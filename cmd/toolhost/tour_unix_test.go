//go:build unix

package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
)

// Every command in docs/tour.md works, and every tool is in it. A daemon serves the commands in
// the repository, so that its code is loaded once. That takes 40 s all the same: with -short, commands
// of the plugins that load it are only asked for what comes before a plugin, by which a call with right
// arguments and without its grant is denied.
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
	var tools []struct{ Name, Plugin string }
	w.run("tools", "--json").exits(0).json(&tools)
	plugins, called := map[string]string{}, map[string]bool{}
	for _, x := range tools {
		plugins[x.Name] = x.Plugin
	}
	for line := range strings.Lines(tour) {
		command, ours := strings.CutPrefix(strings.TrimSpace(line), "bin/toolhost ")
		if !ours {
			continue
		}
		name := strings.Fields(command)[1]
		called[name] = true
		command = strings.ReplaceAll(command, "--root bin ", "--root "+w.root+" ")
		loads := plugins[name] == "introspection" || plugins[name] == "execution"
		if testing.Short() && loads {
			command, _, _ = strings.Cut(command, " --grant ")
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-c", program+" "+command+" --plugin-dir "+w.plugins) //nolint:gosec // the README's
		cmd.Dir, cmd.Env, cmd.WaitDelay = repository, w.env, time.Second
		out, err := cmd.CombinedOutput()
		if testing.Short() && loads {
			equal(t, "the status of "+command, cmd.ProcessState.ExitCode(), exit.Refused)
		} else if err != nil || len(out) == 0 {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
	for _, x := range tools {
		if !called[x.Name] {
			t.Errorf("the tour does not call %s, of %v", x.Name, slices.Sorted(maps.Keys(called)))
		}
	}
}
