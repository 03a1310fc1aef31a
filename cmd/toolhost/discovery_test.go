package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/llmschema"
	"github.com/toolhost/toolhost/host/mcpclient"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/mcptest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// queries are what a model writes that looks for a tool, and the tools that would do.
var queries = []struct {
	query string
	would []string
}{
	{"read the contents of a file", []string{"fs.read", "read_file", "read_buffer"}},
	{"read lines 10 to 20 of a file", []string{"read_buffer"}},
	{"write text to a file", []string{"fs.write", "write_file"}},
	{"create a new directory", []string{"fs.mkdir"}},
	{"delete a file", []string{"fs.delete"}},
	{"rename a file", []string{"fs.move"}},
	{"list files in a directory", []string{"fs.list"}},
	{"file size and modification time", []string{"fs.stat"}},
	{"grep for a regex in all files", []string{"fs.search", "search_in_buffer"}},
	{"search for text in a file", []string{"search_in_buffer", "fs.search"}},
	{"replace a string in a file", []string{"fs.edit", "propose_file_edit"}},
	{"suggest an edit and show the diff for approval", []string{"propose_file_edit"}},
	{"run the unit tests", []string{"run_tests"}},
	{"does the code compile, go vet", []string{"check_package"}},
	{"evaluate a Go expression", []string{"eval_form"}},
	{"type check code without running it", []string{"compile_form"}},
	{"what was the last error", []string{"get_last_error"}},
	{"history of evaluated expressions", []string{"get_repl_history"}},
	{"find references to a variable", []string{"who_references"}},
	{"who calls this function", []string{"who_calls"}},
	{"callers of a method", []string{"who_calls"}},
	{"function signature and parameters", []string{"function_arglist"}},
	{"struct fields with tags and offsets", []string{"class_slots"}},
	{"which types implement an interface", []string{"class_hierarchy"}},
	{"documentation of a symbol", []string{"describe_symbol", "show_source"}},
	{"show the source code of a function", []string{"show_source"}},
	{"list the packages of the module", []string{"list_packages"}},
	{"exported symbols of a package", []string{"list_package_symbols"}},
	{"outline of a source file", []string{"outline_file"}},
	{"find a symbol by part of its name", []string{"apropos_search"}},
	{"expand inferred type arguments and implicit conversions", []string{"macroexpand_form"}},
	{"listDirectory", []string{"fs.list"}},
	{"moveFile", []string{"fs.move"}},
	{"sampling: complete a prompt with the model of the client", []string{"everything.test_sampling", "everything.test_input_required_result_sampling"}},
	{"roots of the client", []string{"everything.test_input_required_result_list_roots"}},
	{"add another prompt", []string{"everything.test_trigger_prompt_change"}},
	{"a watched resource that changes", []string{"everything.test_watched_resource_change"}},
}

// A model finds what it looks for among the first three tools of the shipped plugins and of a
// mounted server together.
func TestDiscoveryQuality(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "buffer", "introspection", "execution")
	var shipped []tool.Definition
	require.NoError(t, json.Unmarshal([]byte(w.run("tools", "--json").exits(0).stdout), &shipped))
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return mcptest.Server() }, nil))
	t.Cleanup(server.Close)
	h := require.Must(host.New())(t)
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	upstream := require.Must(mcpclient.New(mcpclient.Config{Name: mcptest.Everything, URL: server.URL}))(t)
	mounted := plugin.Server{Name: mcptest.Everything, Connector: upstream, Identity: server.URL, Settings: plugin.DefaultSettings()}
	require.Must(h.Mount(t.Context(), mounted))(t)
	for _, d := range shipped {
		never := func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, nil }
		d.Alias = ""
		require.NoError(t, h.Register(tool.Tool{Definition: d, Handler: never}))
	}
	listed := require.Must(h.List(t.Context()))(t)
	for _, f := range llmschema.Formats() { // tools of mounted servers are exported as others are
		offer, err := llmschema.Export(f, listed)
		if err != nil || slices.ContainsFunc(offer.Notes, func(n llmschema.Note) bool { return n.LeftOut != "" }) || !strings.Contains(string(offer.Tools), "test_trigger_prompt_change") {
			t.Errorf("%s: %v, %v", f, err, offer.Notes)
		}
	}
	s := h.Session(host.WithToolSearch(true), host.WithGrants(tool.FSRead, tool.FSWrite, tool.Exec))
	hits := 0
	for _, q := range queries {
		args, _ := json.Marshal(map[string]any{"query": q.query, "limit": 3})
		var found struct{ Tools []struct{ Name string } }
		if out := s.Call(t.Context(), tool.Call{Name: "tools.search", Arguments: args}); json.Unmarshal([]byte(out.Content), &found) != nil {
			t.Fatalf("%q: %+v", q.query, out)
		}
		hit := slices.ContainsFunc(found.Tools, func(f struct{ Name string }) bool { return slices.Contains(q.would, f.Name) })
		if hit {
			hits++
		} else {
			t.Logf("%q finds %v, and none of %v", q.query, found.Tools, q.would)
		}
	}
	t.Logf("%d of %d queries find a tool that would do among the first three of %d", hits, len(queries), h.Len())
	if hits*100 < len(queries)*90 {
		t.Errorf("%d of %d queries find a tool that would do, fewer than 90%%", hits, len(queries))
	}
}
