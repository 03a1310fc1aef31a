package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// foundBy returns the names that a search finds.
func foundBy(t *testing.T, s *host.Session, query string) []string {
	t.Helper()
	args, _ := json.Marshal(map[string]any{"query": query})
	out := s.Call(t.Context(), tool.Call{Name: host.SearchTool, Arguments: args})
	var got struct {
		Tools []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Safety      string          `json:"safety"`
			InputSchema json.RawMessage `json:"input_schema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal([]byte(out.Content), &got); err != nil || !out.Success || out.Structured != nil {
		t.Fatalf("%q: %+v, %v", query, out, err)
	}
	var names []string
	for _, f := range got.Tools {
		if f.Description == "" || f.Safety == "" || !json.Valid(f.InputSchema) {
			t.Errorf("%q finds %+v", query, f)
		}
		names = append(names, f.Name)
	}
	return names
}

// described returns an echo with a description.
func described(name, description string, change ...func(*tool.Definition)) tool.Tool {
	return echo(name, append(change, func(d *tool.Definition) { d.Description = description })...)
}

// A caller that searches sees two tools, finds those that it may call, and calls them by
// either way.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for _, made := range []tool.Tool{
		described("fs.read", "Reads a file."), described("fs.hidden", "Reads a hidden file."),
		described("fs.secret", "Reads a secret file.", func(d *tool.Definition) { d.Permission = "secrets" }),
		described("net.get", "Fetches a page of the web."),
	} {
		require.NoError(t, h.Register(made))
	}
	s := h.Session(host.WithToolSearch(true),
		host.WithVisible(func(d tool.Definition) bool { return d.Name != "fs.hidden" })).With()
	listed := require.Must(s.List(t.Context()))(t)
	var names []string
	for _, x := range s.Tools(host.Filter{}) {
		names = append(names, x.Name, x.Alias)
	}
	if want := []string{"tools.call", "tools_call", "tools.read", "tools_read", "tools.search", "tools_search"}; !slices.Equal(names, want) || len(listed) != 3 {
		t.Errorf("it lists %v and %v", names, listed)
	}
	levelOf := func() tool.Safety { return s.Tools(host.Filter{Search: "tools.call"})[0].Safety }
	if got := levelOf(); got != tool.Safe || listed[0].Safety != got {
		t.Errorf("who can reach safe tools only is told that tools.call is %v", got)
	}
	assert.EqualSlicesf(t, foundBy(t, s, "content of a file"), []string{"fs.read"}, "it finds")
	s.Grant("secrets")
	if got := foundBy(t, s, "secret files"); got[0] != "fs.secret" || slices.Contains(got, "fs.hidden") {
		t.Errorf("it finds %v", got)
	}
	require.NoError(t, h.Register(described("mail.send", "Sends a message to a person.")))
	assert.EqualSlicesf(t, foundBy(t, s, "send message"), []string{"mail.send"}, "of a new tool it finds")
	for args, want := range map[string]string{
		`{"name":"fs.read","arguments":{"text":"a"}}`:          `fs.read:{"text":"a"}`,
		`{"name":"fs_read","arguments":{"text":"a"}}`:          `fs.read:{"text":"a"}`,
		`{"name":"fs.read","arguments":"{\"text\":\"a\"}"}`:    `fs.read:{"text":"a"}`,
		`{"name":"fs.read"}`:                                   "fs.read:",
		`{"name":"fs.read","arguments":{"x":"a"}}`:             "Invalid tool call: unexpected argument: x",
		`{"name":"fs.read","arguments":[]}`:                    "Invalid tool call: invalid value for arguments: expected object, got array",
		`{"name":"fs.read","with":{}}`:                         "Invalid tool call: unexpected argument: with",
		`{"arguments":{}}`:                                     "Invalid tool call: missing required argument: name",
		`{`:                                                    "Invalid tool call: ",
		`{"name":"fs.hidden"}`:                                 "Unknown tool: fs.hidden",
		`{"name":"nope"}`:                                      "Unknown tool: nope",
		`{"name":"tools.call","arguments":{"name":"fs.read"}}`: "cannot call itself",
		`{"name":"tools.search","arguments":{"query":"web"}}`:  `"name":"net.get"`,
	} {
		for _, name := range []string{"tools.call", "tools_call"} {
			if out := s.Call(t.Context(), tool.Call{Name: name, Arguments: []byte(args)}); !strings.Contains(out.Content, want) {
				t.Errorf("%s: %s, want %s", args, out.Content, want)
			}
		}
	}
	if out := s.Call(t.Context(), tool.Call{Name: "net.get"}); !out.Success {
		t.Errorf("by its own name: %+v", out)
	}
	outs := s.CallAll(t.Context(), []tool.Call{
		{Name: "tools.call", Arguments: []byte(`{"name":"net.get"}`)}, {Name: "tools.search", Arguments: []byte(`{"query":"web"}`)},
	})
	if !outs[0].Success || !outs[1].Success {
		t.Errorf("several: %+v", outs)
	}
	require.NoError(t, h.Register(described("fs.put", "Writes a file.", func(d *tool.Definition) { d.Safety = tool.Cautious })))
	require.NoError(t, h.Register(described("db.drop", "Drops a table.", func(d *tool.Definition) { d.Safety, d.Permission = tool.Dangerous, "db" })))
	assert.Equalf(t, levelOf(), tool.Cautious, "who can reach a cautious tool is told that tools.call")
	s.Grant("db")
	if got := levelOf(); got != tool.Dangerous || s.Tools(host.Filter{Search: "tools.read"})[0].Safety != tool.Safe {
		t.Errorf("who can reach a dangerous tool is told that tools.call is %v", got)
	}
	for args, want := range map[string]string{
		`{"name":"fs.read","arguments":{"text":"a"}}`: `fs.read:{"text":"a"}`,
		`{"name":"fs.put"}`:                           "tools.read calls safe tools only, and fs.put is cautious",
		`{"name":"db.drop"}`:                          "tools.read calls safe tools only, and db.drop is dangerous",
		`{"name":"fs.hidden"}`:                        "Unknown tool: fs.hidden",
		`{"name":"tools.call"}`:                       "cannot call itself",
		`{}`:                                          "Invalid tool call: missing required argument: name",
	} {
		if out := s.Call(t.Context(), tool.Call{Name: "tools.read", Arguments: []byte(args)}); !strings.Contains(out.Content, want) {
			t.Errorf("%s: %s, want %s", args, out.Content, want)
		}
	}
	web := tool.Call{Name: "tools.search", Arguments: []byte(`{"query":"web"}`)}
	if out := h.Session().Call(t.Context(), web); out.Error == nil || out.Error.Code != tool.CodeNotFound {
		t.Errorf("a caller with the list: %+v", out)
	}
}

// A search finds a tool by the words that the operator gives it, also when they change.
func TestDiscoveryAlso(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.WithOverrides(map[string]host.Override{"net.get": {Also: []string{"grab", "the intranet"}}}))
	require.NoError(t, h.Register(described("net.get", "Fetches a page.")))
	s := h.Session(host.WithToolSearch(true))
	if a, b := foundBy(t, s, "grab it"), foundBy(t, s, "intranet"); len(a) != 1 || len(b) != 1 {
		t.Errorf("it finds %v and %v", a, b)
	}
	require.NoError(t, h.Reconfigure(host.WithOverrides(map[string]host.Override{"net.get": {Also: []string{"wiki"}}})))
	if a, b := foundBy(t, s, "grab it"), foundBy(t, s, "wiki"); len(a) != 0 || len(b) != 1 {
		t.Errorf("after a change it finds %v and %v", a, b)
	}
}

// What decides about a call by tools.call is what decides about the tool, under its name, once.
func TestDiscoveryDecides(t *testing.T) {
	t.Parallel()
	record := &recorded{}
	h := newHost(t, host.WithAudit(record))
	require.NoError(t, h.Register(echo("db.drop", func(d *tool.Definition) { d.Safety = tool.Dangerous; d.Permission = "db" })))
	var asked []string
	s := h.Session(host.WithToolSearch(true), host.WithApprover(
		policy.ApproverFunc(func(_ context.Context, r policy.Request) (policy.Decision, error) {
			asked = append(asked, r.Call.Name+string(r.Call.Arguments))
			return policy.Decision{Verdict: policy.Allow}, nil
		})))
	call := tool.Call{Name: "tools.call", Arguments: []byte(`{"name":"db.drop","arguments":{"text":"all"}}`)}
	if _, err := s.Execute(t.Context(), call); tool.CodeOf(err) != tool.CodePermissionDenied || len(asked) > 0 {
		t.Errorf("without the grant: %v, asked %v", err, asked)
	}
	s.Grant("db")
	if _, err := s.Execute(t.Context(), call); err != nil || !slices.Equal(asked, []string{`db.drop{"text":"all"}`}) {
		t.Errorf("%v, asked %v", err, asked)
	}
	for _, r := range record.all {
		assert.Equalf(t, r.Tool, "db.drop", "on record is %+v", r)
	}
	if n := len(record.all); n != 3 { // an end, a begin and an end
		t.Errorf("%d records", n)
	}
}

// The names are the host's own.
func TestDiscoveryNames(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.WithOverrides(map[string]host.Override{"fs.find": {Name: "tools.search"}}))
	for _, name := range []string{"tools.search", "tools.call", "tools.read", "tools_search", "tools_call", "tools_read", "fs.find"} {
		if err := h.Register(echo(name)); !errors.Is(err, tool.ErrAlreadyExists) || !strings.Contains(err.Error(), "the host's own") {
			t.Errorf("%s: %v", name, err)
		}
	}
	require.NoError(t, h.Register(echo("tools.find")))
}
