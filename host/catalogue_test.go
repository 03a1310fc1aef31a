package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/llmschema"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// catalogue are the eighteen tools of the registry's first contract: name,
// categories, safety, permission and arguments, "*" for required ones, of type
// string where none is given.
var catalogue = []struct{ name, categories, safety, permission, args string }{
	{"describe_symbol", "introspection", "safe", "fs:read", "symbol* package"},
	{"apropos_search", "introspection", "safe", "fs:read", "pattern* package"},
	{"function_arglist", "introspection", "safe", "fs:read", "function* package"},
	{"who_calls", "introspection xref", "safe", "fs:read", "function* package"},
	{"who_references", "introspection xref", "safe", "fs:read", "variable* package"},
	{"list_package_symbols", "introspection packages", "safe", "fs:read", "package* include_internal:boolean"},
	{"class_slots", "introspection clos", "safe", "fs:read", "class* package"},
	{"class_hierarchy", "introspection clos", "safe", "fs:read", "class* package"},
	{"macroexpand_form", "introspection", "safe", "fs:read", "form* full:boolean package"},
	{"eval_form", "execution", "cautious", "exec", "form* package"},
	{"compile_form", "execution", "cautious", "exec", "form* package"},
	{"get_last_error", "execution debugging", "safe", "exec", ""},
	{"get_repl_history", "execution", "safe", "exec", "limit:integer"},
	{"read_file", "buffer filesystem", "cautious", "fs:read", "path*"},
	{"read_buffer", "buffer", "safe", "fs:read", "buffer start:integer end:integer"},
	{"search_in_buffer", "buffer", "safe", "fs:read", "pattern* buffer regex:boolean all_matches:boolean"},
	{"write_file", "buffer filesystem destructive", "dangerous", "fs:write", "path* content*"},
	{"propose_file_edit", "diff editing", "dangerous", "fs:write", "path* original* modified* description*"},
}

// catalogueHost serves the catalogue with functions that answer with their name.
func catalogueHost(t *testing.T) *host.Host {
	t.Helper()
	h := newHost(t)
	for _, c := range catalogue {
		level := require.Must(tool.ParseSafety(c.safety))(t)
		register(t, h, c.name, func(d *tool.Definition) {
			d.Safety, d.Permission, d.Categories = level, tool.Capability(c.permission), strings.Fields(c.categories)
			d.InputSchema = argumentSchema(t, c.args)
		})
	}
	return h
}

// register adds a tool that answers with the name that it was registered under
// and the one that it was called by.
func register(t *testing.T, h *host.Host, name string, change ...func(*tool.Definition)) {
	t.Helper()
	named := echo(name, change...)
	named.Handler = func(_ context.Context, call tool.Call) (tool.Result, error) {
		return tool.Text(name + " as " + call.Name), nil
	}
	require.NoError(t, h.Register(named))
}

// argumentSchema is empty where there are no arguments.
func argumentSchema(t *testing.T, args string) tool.Schema {
	t.Helper()
	if args == "" {
		return nil
	}
	type property struct {
		Type string `json:"type"`
	}
	properties, required := map[string]property{}, []string{}
	for _, arg := range strings.Fields(args) {
		name, kind, _ := strings.Cut(arg, ":")
		name, star := strings.CutSuffix(name, "*")
		if star {
			required = append(required, name)
		}
		if kind == "" {
			kind = "string"
		}
		properties[name] = property{kind}
	}
	return require.Must(json.Marshal(map[string]any{
		"type": "object", "properties": properties, "required": required, "additionalProperties": false,
	}))(t)
}

func TestCatalogueFilter(t *testing.T) {
	t.Parallel()
	h := catalogueHost(t)
	for _, c := range []struct {
		level      tool.Safety
		categories string
		want       int
	}{
		{tool.Unset, "", 18},
		{tool.Safe, "", 13},
		{tool.Cautious, "", 16},
		{tool.Dangerous, "", 18},
		{tool.Unset, "introspection", 9},
		{tool.Unset, "execution", 4},
		{tool.Unset, "buffer", 4},
		{tool.Unset, "diff", 1},
		{tool.Unset, "xref", 2},
		{tool.Unset, "clos", 2},
		{tool.Unset, "packages", 1},
		{tool.Unset, "nothing", 0},
		// Any of them, and a tool of two categories counts once.
		{tool.Unset, "introspection xref clos packages", 9},
		{tool.Unset, "execution buffer", 8},
		{tool.Unset, "diff xref", 3},
		{tool.Unset, "diff nothing", 1},
		// Both conditions together.
		{tool.Safe, "execution", 2},
		{tool.Safe, "buffer", 2},
		{tool.Cautious, "buffer", 3},
		{tool.Cautious, "execution diff", 4},
		{tool.Dangerous, "buffer diff", 5},
		{tool.Safe, "diff", 0},
	} {
		t.Run(fmt.Sprintf("%s of %s", c.level, c.categories), func(t *testing.T) {
			t.Parallel()
			got := h.Tools(host.Filter{MaxSafety: c.level, Categories: strings.Fields(c.categories)})
			if len(got) != c.want {
				t.Errorf("%d tools, want %d: %v", len(got), c.want, toolNames(got))
			}
			for _, one := range got {
				if c.level != tool.Unset && one.Safety > c.level {
					t.Errorf("%s is %s", one.Name, one.Safety)
				}
			}
		})
	}
}

// Each level holds the tools of the one below it.
func TestCatalogueLevelsNest(t *testing.T) {
	t.Parallel()
	h := catalogueHost(t)
	var below []string
	for level := tool.Safe; level <= tool.Dangerous; level++ {
		names := toolNames(h.Tools(host.Filter{MaxSafety: level}))
		for _, name := range below {
			if !slices.Contains(names, name) {
				t.Errorf("%s has no %s, which a lower level has", level, name)
			}
		}
		below = names
	}
}

func toolNames(tools []host.Tool) []string {
	names := make([]string, 0, len(tools))
	for _, one := range tools {
		names = append(names, one.Name)
	}
	return names
}

// openAITool is what a model's provider is sent.
type openAITool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string         `json:"name"`
		Description string         `json:"description"`
		Parameters  map[string]any `json:"parameters"`
	} `json:"function"`
}

// exportOpenAI is what models are told of a host's tools.
func exportOpenAI(t *testing.T, h *host.Host) []openAITool {
	t.Helper()
	tools := require.Must(h.List(t.Context()))(t)
	text := require.Must(llmschema.Export(llmschema.OpenAI, tools))(t).Tools
	var out []openAITool
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.DisallowUnknownFields() // the shape has these members and no others
	if err := dec.Decode(&out); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return out
}

var modelName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func TestCatalogueForModels(t *testing.T) {
	t.Parallel()
	exported := map[string]openAITool{}
	for _, one := range exportOpenAI(t, catalogueHost(t)) {
		if one.Type != "function" || !modelName.MatchString(one.Function.Name) || one.Function.Description != "Answers with its arguments." {
			t.Errorf("got %+v", one)
		}
		exported[one.Function.Name] = one
	}
	if len(exported) != len(catalogue) {
		t.Errorf("%d different names, want %d", len(exported), len(catalogue))
	}
	for _, c := range catalogue {
		parameters := exported[c.name].Function.Parameters
		properties, ok := parameters["properties"].(map[string]any)
		if parameters["type"] != "object" || !ok || len(properties) != len(strings.Fields(c.args)) {
			t.Errorf("%s: parameters %v, want an object with %q", c.name, parameters, c.args)
		}
		required, _ := parameters["required"].([]any)
		assert.Equalf(t, len(required), strings.Count(c.args, "*"), "%s: required %v, want those of %q", c.name, required, c.args)
	}
}

// awkward are names whose likely aliases meet each other and other names.
var awkward = []string{
	"fs.read", "fs-read", "fs.re.ad", "fs.re_ad", "fs_re.ad", strings.Repeat("long", 16) + ".a", strings.Repeat("long", 16) + ".b", "...", ".-.",
}

func TestNoTwoToolsShareAnAlias(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for _, c := range catalogue {
		register(t, h, c.name)
	}
	for _, name := range awkward {
		register(t, h, name)
	}
	known := map[string]string{}
	for _, one := range h.Tools(host.Filter{}) {
		if !modelName.MatchString(one.Alias) || known[one.Alias] != "" {
			t.Errorf("%s is called %q, as is %q", one.Name, one.Alias, known[one.Alias])
		}
		known[one.Alias] = one.Name
	}
	assert.Equalf(t, known["fs_read"], "fs.read", "fs_read")
	for _, shown := range exportOpenAI(t, h) {
		alias := shown.Function.Name
		expectReaches(t, h, alias, known[alias])
	}
	for _, name := range h.Names() {
		expectReaches(t, h, name, name)
	}
}

// A name that is spelt like another tool's alias never gets its calls, whichever
// of the two comes first.
func TestAliasAndNameAlike(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	register(t, h, "fs_read")
	register(t, h, "fs.read")
	first, _ := h.Get("fs_read")
	second, _ := h.Get("fs.read")
	if first.Alias != "fs_read" || second.Alias == "fs_read" {
		t.Errorf("the aliases are %s and %s", first.Alias, second.Alias)
	}
	expectReaches(t, h, first.Alias, "fs_read")
	expectReaches(t, h, second.Alias, "fs.read")

	other := newHost(t)
	register(t, other, "fs.read")
	// A model may know fs.read by this name already: it cannot become another's.
	if err := other.Register(echo("fs_read")); tool.CodeOf(err) != tool.CodeAlreadyExists || !strings.Contains(err.Error(), "fs.read") {
		t.Errorf("a tool named like an alias: %v", err)
	}
	expectReaches(t, other, "fs_read", "fs.read")
}

// expectReaches looks a tool up and calls it by one of its names.
func expectReaches(t *testing.T, h *host.Host, by, name string) {
	t.Helper()
	if one, ok := h.Get(by); !ok || one.Name != name {
		t.Errorf("Get(%s) gives %q, want %q", by, one.Name, name)
	}
	res, err := h.Execute(t.Context(), tool.Call{Name: by})
	if want := name + " as " + name; err != nil || res.Text() != want {
		t.Errorf("a call of %s answers %q, %v; want %q", by, res.Text(), err, want)
	}
}

// A tool that is registered while an agent runs is there at its next turn, and one
// that is taken away is not.
func TestLiveCatalogue(t *testing.T) {
	t.Parallel()
	h := catalogueHost(t)
	begun, finish := make(chan struct{}), make(chan struct{})
	slow := echo("slow")
	slow.Handler = func(context.Context, tool.Call) (tool.Result, error) {
		close(begun)
		<-finish
		return tool.Text("done"), nil
	}
	require.NoError(t, h.Register(slow))
	turn := make(chan host.Outcome, 1)
	go func() { turn <- h.Call(t.Context(), tool.Call{Name: "slow"}) }()
	<-begun
	before := len(exportOpenAI(t, h))
	require.Must(h.Upsert("late", echo("new.tool")))(t)
	close(finish)
	if out := <-turn; !out.Success {
		t.Errorf("the turn under way: %+v", out)
	}

	after := exportOpenAI(t, h)
	found := slices.ContainsFunc(after, func(one openAITool) bool { return one.Function.Name == "new_tool" })
	if len(after) != before+1 || !found || !slices.Contains(toolNames(h.Tools(host.Filter{})), "new.tool") {
		t.Errorf("%d tools of %d, the new one among them: %v", len(after), before+1, found)
	}
	if out := h.Call(t.Context(), tool.Call{Name: "new_tool", Arguments: []byte(`{"text":"hi"}`)}); out.Content != `new.tool:{"text":"hi"}` {
		t.Errorf("a call of the new tool: %+v", out)
	}
	h.Unregister("late")
	assert.Equalf(t, len(exportOpenAI(t, h)), before, "it is still there after it was taken away")
}
