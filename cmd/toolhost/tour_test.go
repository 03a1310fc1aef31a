package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/test/require"
)

// shipped are the plugins that come with toolhost.
var shipped = []string{"buffer", "execution", "fs", "introspection"}

// The catalogue has the names, levels and categories of the registry's contract.
func TestShippedTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shipped...)
	var tools []shownTool
	w.run("tools", "--json").exits(0).json(&tools)
	levels, categories := map[string]int{}, map[string]int{}
	var names, own []string
	for _, x := range tools {
		if strings.HasPrefix(x.Name, "fs.") {
			own = append(own, x.Name)
			continue
		}
		names = append(names, x.Name)
		levels[x.Safety.String()]++
		for _, c := range x.Categories {
			categories[c]++
		}
	}
	equalLists(t, "the tools", names, []string{
		"apropos_search", "check_package", "class_hierarchy", "class_slots", "compile_form", "describe_symbol", "eval_form",
		"function_arglist",
		"get_last_error", "get_repl_history", "list_package_symbols", "list_packages", "macroexpand_form", "outline_file", "propose_file_edit", "read_buffer", "read_file",
		"run_tests", "search_in_buffer", "show_source", "who_calls", "who_references", "write_file",
	})
	equalLists(t, "those of fs", own, []string{"fs.delete", "fs.edit", "fs.list", "fs.mkdir", "fs.move", "fs.read", "fs.search", "fs.stat", "fs.write"})
	equal(t, "the levels", fmt.Sprint(levels), "map[cautious:5 dangerous:2 safe:16]")
	for c, n := range map[string]int{"introspection": 12, "execution": 6, "testing": 2, "buffer": 4, "diff": 1, "xref": 2, "clos": 2, "packages": 2} {
		equal(t, "the tools of category "+c, categories[c], n)
	}
}

// Every command in docs/tour.md works, and every tool is in it. A daemon serves the commands in
// the repository, so that its code is loaded once. That takes 40 s all the same: with -short, commands
// of the plugins that load it are only asked for what comes before a plugin, by which a call with right
// arguments and without its grant is denied.
func TestTour(t *testing.T) {
	t.Parallel()
	page := require.Must(os.ReadFile(filepath.Join("..", "..", "docs", "tour.md")))(t)
	tour := string(page)
	w := newWorld(t, shipped...)
	repository := require.Must(filepath.Abs(filepath.Join("..", "..")))(t)
	w.configure("plugins:", "  introspection: {sandbox: {level: strict}}", "  execution: {sandbox: {level: strict}}")
	w.env = append(w.env, session.ConfigVariable+"="+w.config())
	scratch := w.root
	w.root = repository
	w.serve("--grant", "fs:read,exec")
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
		command = strings.ReplaceAll(command, "--root bin ", "--root "+scratch+" ")
		loads := plugins[name] == "introspection" || plugins[name] == "execution"
		if testing.Short() && loads {
			command, _, _ = strings.Cut(command, " --grant ")
		}
		words := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\0' `+command) //nolint:gosec // the README's
		words.Dir = repository
		out := require.Must(words.Output())(t)
		o := w.run(strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")...)
		if testing.Short() && loads {
			o.exits(exit.Refused)
		} else if o.exits(exit.Done); o.stdout+o.stderr == "" {
			t.Errorf("%s prints nothing", command)
		}
	}
	for _, x := range tools {
		if !called[x.Name] {
			t.Errorf("the tour does not call %s, of %v", x.Name, slices.Sorted(maps.Keys(called)))
		}
	}
}
