package main

import (
	"fmt"
	"strings"
	"testing"
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
