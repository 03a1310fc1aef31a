package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// mount writes a file of MCP servers as other programs have them, and returns its path.
func (w *world) mount(servers map[string][]string) string {
	w.t.Helper()
	type entry struct {
		Command   string          `json:"command"`
		Args      []string        `json:"args"`
		Questions map[string]bool `json:"questions"`
	}
	entries := map[string]entry{}
	for name, words := range servers {
		entries[name] = entry{words[0], words[1:], map[string]bool{"sampling": true}}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": entries})
	if err != nil {
		w.t.Fatal(err)
	}
	path := filepath.Join(w.home, "mcp.json")
	w.write(path, string(text))
	return path
}

// toolTest is a call of a tool of a mounted server, and what its answer has.
type toolTest struct {
	name      string
	arguments map[string]any
	want      string
	fails     bool
}

// testTools calls every tool that a mounted server has.
func testTools(t *testing.T, d *driver, server string, tests []toolTest) {
	t.Helper()
	var missing, names []string
	require.Eventually(t, "the tools of "+server, func() bool { // a client is answered before it has started
		names = d.tools()
		return slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, server+"_") })
	})
	for _, name := range names {
		if own, ok := strings.CutPrefix(name, server+"_"); ok &&
			!slices.ContainsFunc(tests, func(c toolTest) bool { return c.name == own }) {
			missing = append(missing, own)
		}
	}
	if len(missing) > 0 {
		t.Errorf("tools of %s that are not tested: %v", server, missing)
	}
	for _, c := range tests {
		if c.arguments == nil {
			c.arguments = map[string]any{}
		}
		r := d.tool(server+"_"+c.name, c.arguments)
		text, _ := json.Marshal(r)
		if r.IsError != c.fails || !strings.Contains(string(text), c.want) {
			t.Errorf("%s: %s, want %s", c.name, text, c.want)
		}
	}
}

// The reference server of the MCP project works as it does without toolhost between.
func TestServerEverything(t *testing.T) {
	t.Parallel()
	modules(t)
	eachConnection(t, func(t *testing.T, c connection) {
		w := newWorld(t, "")
		words := node(t, "@modelcontextprotocol/server-everything/dist/index.js", "stdio")
		d := c.client(w, "--yes", "--mcp-config", w.mount(map[string][]string{"everything": words}))
		d.do("answer", map[string]any{"action": "accept", "content": map[string]any{"name": "Ann"}}, nil)
		testTools(t, d, "everything", []toolTest{
			{name: "echo", arguments: map[string]any{"message": "hi"}, want: "Echo: hi"},
			{name: "get-annotated-message", arguments: map[string]any{
				"messageType": "error", "includeImage": true,
			}, want: `"Type":"image"`},
			{name: "get-env", want: "PATH"},
			{name: "get-resource-links", arguments: map[string]any{"count": 2}, want: `"Type":"resource_link"`},
			{name: "get-resource-reference", want: "demo://resource/dynamic/text/1"},
			{name: "get-structured-content", arguments: map[string]any{"location": "Chicago"}, want: `"structuredContent":{"`},
			{name: "get-sum", arguments: map[string]any{"a": 2, "b": 3}, want: "is 5"},
			{name: "get-tiny-image", want: `"Type":"image"`},
			{name: "gzip-file-as-resource", arguments: map[string]any{
				"data": "data:text/plain,hi", "outputType": "resource",
			}, want: ".gz"},
			{name: "toggle-simulated-logging", want: "Started simulated"},
			{name: "toggle-subscriber-updates", want: "Started simulated"},
			{name: "trigger-long-running-operation", arguments: map[string]any{
				"duration": 0.1, "steps": 2,
			}, want: "Steps: 2"},
			// The server asks for roots once, a while after it was connected, for no call of a
			// client: it has what the client that is there then says, if one is.
			{name: "get-roots-list", want: "roots"},
			{name: "trigger-elicitation-request", want: "Ann"},
			{name: "trigger-sampling-request", arguments: map[string]any{"prompt": "hi"}, want: "sampled"},
			{name: "trigger-url-elicitation", arguments: map[string]any{
				"url": "https://example.com",
			}, fails: true}, // the client shows no pages
			{name: "simulate-research-query", arguments: map[string]any{"topic": "hi"}, fails: true}, // wants tasks
		})
		testPrompts(t, d)
		testResources(t, d)
	})
}

func testPrompts(t *testing.T, d *driver) {
	var prompts struct{ Prompts []struct{ Name string } }
	d.do("prompts", nil, &prompts)
	assert.Equalf(t, len(prompts.Prompts), 4, "the prompts are %v", prompts)
	name := func(own string) string {
		for _, p := range prompts.Prompts {
			if strings.HasSuffix(p.Name, own) {
				return p.Name
			}
		}
		return own
	}
	var prompt json.RawMessage
	d.do("prompt", map[string]any{"name": name("args-prompt"), "arguments": map[string]any{"city": "Bern"}}, &prompt)
	assert.Containsf(t, string(prompt), "Bern", "the prompt is %s", prompt)
	var completion struct{ Completion struct{ Values []string } }
	d.do("complete", map[string]any{
		"ref":      map[string]any{"type": "ref/prompt", "name": name("completable-prompt")},
		"argument": map[string]any{"name": "department", "value": "E"},
	}, &completion)
	if !slices.Contains(completion.Completion.Values, "Engineering") {
		t.Errorf("completed to %v", completion)
	}
}

func testResources(t *testing.T, d *driver) {
	var list struct{ Resources []struct{ URI string } }
	d.do("resources", nil, &list)
	if len(list.Resources) == 0 {
		t.Fatal("no resources")
	}
	var templates struct {
		ResourceTemplates []struct{ URITemplate string }
	}
	d.do("templates", nil, &templates)
	assert.Equalf(t, len(templates.ResourceTemplates), 2, "the templates are %v", templates)
	for _, uri := range []string{"demo://resource/static/document/architecture.md", "demo://resource/dynamic/text/7"} {
		var contents struct {
			Contents []struct{ URI, Text string }
		}
		d.do("read", map[string]any{"uri": uri}, &contents)
		if len(contents.Contents) != 1 || contents.Contents[0].Text == "" {
			t.Errorf("%s is %v", uri, contents)
		}
	}
}

// The file system server of the MCP project works on a directory.
func TestServerFilesystem(t *testing.T) {
	t.Parallel()
	modules(t)
	eachConnection(t, func(t *testing.T, c connection) {
		w := newWorld(t, "")
		dir := require.Must(filepath.EvalSymlinks(t.TempDir()))(t)
		in := func(name string) string { return filepath.Join(dir, name) }
		w.write(in("a.txt"), "one\ntwo\n")
		w.write(in("dot.png"), "png")
		words := node(t, "@modelcontextprotocol/server-filesystem/dist/index.js", dir)
		d := c.client(w, "--yes", "--mcp-config", w.mount(map[string][]string{"files": words}))
		path := func(name string) map[string]any { return map[string]any{"path": in(name)} }
		testTools(t, d, "files", []toolTest{
			{name: "read_file", arguments: path("a.txt"), want: "one"},
			{name: "read_text_file", arguments: map[string]any{"path": in("a.txt"), "head": 1}, want: "one"},
			{name: "read_media_file", arguments: path("dot.png"), want: "cG5n"},
			{name: "read_multiple_files", arguments: map[string]any{"paths": []string{in("a.txt")}}, want: "two"},
			{name: "write_file", arguments: map[string]any{"path": in("b.txt"), "content": "b"}, want: "Successfully"},
			{name: "edit_file", arguments: map[string]any{
				"path": in("b.txt"), "edits": []any{map[string]any{"oldText": "b", "newText": "c"}},
			}, want: "+c"},
			{name: "create_directory", arguments: path("d"), want: "Successfully"},
			{name: "list_directory", arguments: path(""), want: "[DIR] d"},
			{name: "list_directory_with_sizes", arguments: path(""), want: "a.txt"},
			{name: "directory_tree", arguments: path(""), want: "b.txt"},
			{name: "move_file", arguments: map[string]any{
				"source": in("b.txt"), "destination": in("d/b.txt"),
			}, want: "Successfully"},
			{name: "search_files", arguments: map[string]any{"path": dir, "pattern": "**/b.txt"}, want: "d/b.txt"},
			{name: "get_file_info", arguments: path("a.txt"), want: "isFile: true"},
			{name: "list_allowed_directories", want: dir},
			{name: "read_file", arguments: map[string]any{"path": "/etc/passwd"}, want: "Access denied", fails: true},
		})
		if text, err := os.ReadFile(in("d/b.txt")); err != nil || string(text) != "c" {
			t.Errorf("the file that was written: %q, %v", text, err)
		}
	})
}
