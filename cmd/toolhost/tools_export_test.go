package main

import (
	"testing"
)

func TestSchemaForModels(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "buffer")
	aliases := []string{
		"fs_delete", "fs_edit", "fs_list", "fs_mkdir", "fs_move", "fs_read", "fs_search", "fs_stat", "fs_write",
		"propose_file_edit", "read_buffer", "read_file", "search_in_buffer", "write_file",
	}

	var openai []struct {
		Type     string
		Function struct {
			Name, Description string
			Parameters        struct {
				Type       string
				Properties map[string]any
			}
		}
	}
	w.run("tools", "--for", "openai").exits(0).json(&openai)
	var got []string
	for _, tool := range openai {
		got = append(got, tool.Function.Name)
		p := tool.Function.Parameters
		if tool.Type != "function" || tool.Function.Description == "" || p.Type != "object" || len(p.Properties) == 0 {
			t.Errorf("%s is incomplete: %+v", tool.Function.Name, tool)
		}
	}
	equalLists(t, "the names for OpenAI", got, aliases)

	var anthropic []struct {
		Name   string         `json:"name"`
		Schema map[string]any `json:"input_schema"`
	}
	w.run("tools", "--for", "anthropic").exits(0).json(&anthropic)
	got = nil
	for _, tool := range anthropic {
		got = append(got, tool.Name)
		equal(t, "the schema's type", tool.Schema["type"], any("object"))
	}
	equalLists(t, "the names for Anthropic", got, aliases)

	var gemini struct {
		FunctionDeclarations []struct {
			Name                 string
			ParametersJSONSchema map[string]any
		}
	}
	w.run("tools", "--for", "gemini").exits(0).json(&gemini)
	got = nil
	for _, tool := range gemini.FunctionDeclarations {
		got = append(got, tool.Name)
		equal(t, "the schema's type", tool.ParametersJSONSchema["type"], any("object"))
	}
	equalLists(t, "the names for Gemini", got, aliases)
}

func TestSchemaForMCP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	var tools []struct {
		Name, Title  string
		InputSchema  map[string]any
		OutputSchema map[string]any
		Annotations  map[string]bool
	}
	w.run("tools", "--for", "mcp", "--search", "Write a file", "--category", "destructive,nothing").exits(0).json(&tools)
	if len(tools) != 1 {
		t.Fatalf("there are %d tools, want fs.write alone", len(tools))
	}
	write := tools[0]
	equal(t, "the name", write.Name, "fs.write")
	equal(t, "the title", write.Title, "Write a file")
	equal(t, "the schema's type", write.InputSchema["type"], any("object"))
	equal(t, "the result's type", write.OutputSchema["type"], any("object"))
	equal(t, "the read-only hint", write.Annotations["readOnlyHint"], false)
	equal(t, "the destructive hint", write.Annotations["destructiveHint"], true)
}

// The alias that a model is told is a name that the command takes.
func TestCallByAlias(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	w.write("note.txt", "by alias")
	w.run("call", "fs_read", "--arg", "path=note.txt", "--grant", "fs:read").exits(0).prints("by alias")
}

func TestSchemaFilter(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	var tools []struct{ Name string }
	w.run("tools", "--for", "anthropic", "--max-safety", "safe", "--category", "filesystem").exits(0).json(&tools)
	var got []string
	for _, tool := range tools {
		got = append(got, tool.Name)
	}
	equalLists(t, "the harmless tools", got, []string{"fs_list", "fs_read", "fs_search", "fs_stat"})

	o := w.run("tools", "--for", "openai", "--category", "nothing").exits(0).says("no tool matches (9 are registered)")
	equal(t, "what is printed", o.stdout, "[]\n")
}

func TestSchemaUsage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"tools", "--for", "yaml"}, []string{`unknown format "yaml"`, "use openai, openai-responses, anthropic, gemini or mcp"}},
		{[]string{"tools", "--strict"}, []string{"--strict has no effect without --for", "the formats are openai, openai-responses, anthropic, gemini, mcp"}},
		{[]string{"tools", "--for", "mcp", "--max-safety", "none"}, []string{`unknown safety level "none"`}},
	} {
		o := w.bare(c.args...).exits(2).says(c.says...)
		equal(t, "standard output", o.stdout, "")
	}
}

func TestSchemaComplete(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	for flag, want := range map[string]string{
		"--for":        "openai\nopenai-responses\nanthropic\ngemini\nmcp\n",
		"--max-safety": "safe\ncautious\ndangerous\n",
		"--category":   "destructive\nfilesystem\n",
	} {
		w.bare("__complete", "--plugin-dir", w.plugins, "tools", flag, "").exits(0).prints(want)
	}
}

// A tool that a provider would refuse is changed, which is said, and its calls are understood.
func TestSchemaIsWhatProvidersTake(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	const renamed = `the argument "$odd" is called _odd`
	const lookaround = "tool play.danger for openai: a model is not told a pattern with lookaround"
	w.run("tools", "--for", "anthropic", "--search", "after a person").exits(0).
		says("tool play.danger for anthropic: " + renamed).prints(`"_odd": {`)
	o := w.run("tools", "--for", "openai", "--search", "after a person").exits(0).prints(`"$odd": {`)
	equal(t, "what is said", o.stderr, "warning: "+lookaround+"\n")

	var offer struct {
		Tools []map[string]any
		Notes []struct {
			Tool      string
			Rewritten []string
			Renamed   map[string]string
		}
	}
	w.run("tools", "--for", "anthropic", "--search", "after a person", "--json").exits(0).json(&offer)
	if len(offer.Tools) != 1 || len(offer.Notes) != 1 || offer.Notes[0].Renamed["_odd"] != "$odd" || offer.Notes[0].Tool != "play.danger" {
		t.Errorf("the offer is %+v", offer)
	}

	w.run("tools", "show", "play.danger").exits(0).prints("for models:\n  openai: a model is not told a pattern with lookaround\n").prints("\n  anthropic: " + renamed)
	var shown struct {
		Exports []struct{ Format string }
	}
	w.run("tools", "show", "play.danger", "--json").exits(0).json(&shown)
	if len(shown.Exports) != 3 || shown.Exports[2].Format != "anthropic" {
		t.Errorf("the exports are %+v", shown.Exports)
	}

	o = w.run("call", "play_echo", `{"_odd":"x"}`, "--for", "anthropic").exits(0)
	equal(t, "the answer", o.stdout, `{"$odd":"x"}`)
	w.run("call", "play.echo", `{"_odd":"x"}`).exits(4).says("unexpected argument: _odd")
	w.run("call", "play.echo", "--for", "yaml").exits(2).says(`unknown format "yaml"`)
}

// OpenAI's models may be held to the schemas; what they then say is taken.
func TestSchemaStrict(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.run("tools", "--for", "openai", "--strict", "--search", "play.echo").exits(0).prints(`"strict": true`)
	w.run("tools", "--for", "anthropic", "--strict").exits(2).says("has no strict mode")
	w.run("call", "play_echo", `{"text":null}`, "--for", "openai").exits(0)
	w.run("call", "play_echo", `{"text":null}`).exits(4)
}
