package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/test/require"
)

// shipped are the plugins that come with toolhost.
var shipped = []string{"buffer", "execution", "fs", "introspection"}

// The first 18 tools keep the names, levels and categories of the registry's contract, and later ones have others.
func TestShippedTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shipped...)
	var tools []shownTool
	w.run("tools", "--json").exits(0).json(&tools)
	contract := map[string]int{"introspection": 9, "execution": 4, "buffer": 4, "diff": 1, "xref": 2, "clos": 2, "packages": 1}
	levels, categories := map[string]int{}, map[string]int{}
	var first, later []string
	for _, x := range tools {
		isFirst := false
		for _, c := range x.Categories {
			if contract[c] > 0 {
				categories[c]++
				isFirst = true
			}
		}
		if isFirst {
			first = append(first, x.Name)
			levels[x.Safety.String()]++
		} else {
			later = append(later, x.Name)
		}
	}
	equalLists(t, "the first tools", first, []string{
		"apropos_search", "class_hierarchy", "class_slots", "compile_form", "describe_symbol", "eval_form", "function_arglist",
		"get_last_error", "get_repl_history", "list_package_symbols", "macroexpand_form", "propose_file_edit", "read_buffer",
		"read_file", "search_in_buffer", "who_calls", "who_references", "write_file",
	})
	equalLists(t, "later ones", later, []string{
		"check_package", "fs.delete", "fs.edit", "fs.list", "fs.mkdir", "fs.move", "fs.read", "fs.search", "fs.stat", "fs.write",
		"list_packages", "outline_file", "run_tests", "show_source",
	})
	equal(t, "the levels", fmt.Sprint(levels), "map[cautious:3 dangerous:2 safe:13]")
	equal(t, "the categories", fmt.Sprint(categories), fmt.Sprint(contract))
}

// What a model is told of the shipped tools before its first call is at most 40,000 characters.
func TestShippedToolsAreShort(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shipped...)
	changed := make(chan struct{}, 100)
	cmd := w.command("serve", "--mcp", "stdio", "--plugin-dir", w.plugins, "--grant", "fs:read,fs:write,exec", "--yes")
	c := w.agentOf(cmd, "2025-11-25", &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	all := require.Must(c.ListTools(t.Context(), nil))(t).Tools
	for len(all) < 32 { // some come late
		<-changed
		all = require.Must(c.ListTools(t.Context(), nil))(t).Tools
	}
	for _, x := range all {
		x.OutputSchema = nil // which no model is given
	}
	text := require.Must(json.Marshal(all))(t)
	if n := utf8.RuneCount(text); len(all) != 32 || n > 40_000 {
		t.Errorf("%d tools take %d characters", len(all), n)
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
