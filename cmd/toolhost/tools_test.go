package main

import (
	"encoding/json"
	"testing"
)

func names(tools []shownTool) []string {
	var out []string
	for _, t := range tools {
		out = append(out, t.Name)
	}
	return out
}

func TestTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	var tools []map[string]any
	w.run("tools", "--json").exits(0).json(&tools)
	want := []struct{ name, safety, permission, plugin string }{
		{"fs.delete", "dangerous", "fs:write", "fs"},
		{"fs.edit", "dangerous", "fs:write", "fs"},
		{"fs.list", "safe", "fs:read", "fs"},
		{"fs.mkdir", "cautious", "fs:write", "fs"},
		{"fs.move", "dangerous", "fs:write", "fs"},
		{"fs.read", "safe", "fs:read", "fs"},
		{"fs.search", "safe", "fs:read", "fs"},
		{"fs.stat", "safe", "fs:read", "fs"},
		{"fs.write", "dangerous", "fs:write", "fs"},
	}
	if len(tools) != len(want) {
		t.Fatalf("there are %d tools, want %d", len(tools), len(want))
	}
	for i, got := range tools {
		equal(t, "the name", got["name"], any(want[i].name))
		equal(t, "the safety", got["safety"], any(want[i].safety))
		equal(t, "the permission", got["permission"], any(want[i].permission))
		equal(t, "the plugin", got["plugin"], any(want[i].plugin))
		schema, _ := got["input_schema"].(map[string]any)
		equal(t, "the schema's type", schema["type"], any("object"))
		if schema["properties"] == nil || got["title"] == "" || got["description"] == "" {
			t.Errorf("%s is incomplete: %v", want[i].name, got)
		}
	}
	w.run("tools").exits(0).prints("NAME", "fs.write   dangerous  fs:write", "Writes a whole text file")
}

func TestToolsFilter(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	for _, c := range []struct {
		flags []string
		want  []string
	}{
		{[]string{"--max-safety", "cautious", "--search", "bytes"}, []string{"play.blob", "play.stdin"}},
		{[]string{"--max-safety", "moderate", "--category", "odd"}, []string{"play.blob"}},
		{[]string{"--max-safety", "safe", "--category", "odd"}, nil},
		{[]string{"--search", "AFTER a person"}, []string{"play.danger"}},
	} {
		var tools []shownTool
		w.run(append([]string{"tools", "--json"}, c.flags...)...).exits(0).json(&tools)
		equalLists(t, "the tools", names(tools), c.want)
	}
	w.run("tools", "--search", "nothing like this").exits(0).says("no tool matches (17 are registered)")
}

func TestToolsShow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "player")
	w.run("tools", "show", "fs.write").exits(0).prints(
		"name:          fs.write", "title:         Write a file", "plugin:        fs",
		"safety:        dangerous (claimed: dangerous)", "permission:    fs:write", "categories:    filesystem, destructive",
		`"additionalProperties": false`, `"pattern": "^[^/].*$"`, "structured result:", "Missing directories are made.")
	var s struct {
		Name    string          `json:"name"`
		Safety  string          `json:"safety"`
		Claimed string          `json:"claimed_safety"`
		Input   json.RawMessage `json:"input_schema"`
	}
	w.run("tools", "show", "play.blob", "--json").exits(0).json(&s)
	equal(t, "the name", s.Name, "play.blob")
	equal(t, "the safety", s.Safety, "cautious")
	equal(t, "the claim", s.Claimed, "cautious")
	w.run("tools", "show", "fs.raed").exits(3).says("toolhost: Unknown tool: fs.raed", "did you mean fs.read")
	w.run("tools", "show", "xyzzy").exits(3).says("see toolhost tools for the names")
}

// What the host does not check of a schema is said where a tool and its plugin are shown.
func TestShowWhatIsNotChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	const warning = `arguments: at #/properties/text: the pattern "^(?!never)" is not checked, because of: "(?!"`
	for range 2 { // the second time, the cache knows the plugin
		w.run("tools", "show", "play.danger").exits(0).prints("not checked, so the tool has to:\n  " + warning)
		w.run("plugins", "show", "player").exits(0).prints("not checked, so the tools have to:\n  play.danger: " + warning)
	}
	var shown struct{ Warnings []string }
	w.run("tools", "show", "play.danger", "--json").exits(0).json(&shown)
	equalLists(t, "the tool's warnings", shown.Warnings, []string{warning})
	shown.Warnings = nil
	w.run("plugins", "show", "player", "--json").exits(0).json(&shown)
	equalLists(t, "the plugin's warnings", shown.Warnings, []string{"play.danger: " + warning})
}
