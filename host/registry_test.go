package host_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestRegister(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	require.NoError(t, h.Register(echo("a.tool")))
	second := echo("a.tool")
	second.Handler = echo("impostor").Handler
	if err := h.Register(second); !errors.Is(err, tool.ErrAlreadyExists) || !strings.Contains(err.Error(), "a.tool") {
		t.Errorf("a second Register: %v", err)
	}
	assert.ErrorIsf(t, h.Register(echo("")), tool.ErrEmptyName, "an empty name")
	if h.Len() != 1 {
		t.Errorf("%d tools, want 1", h.Len())
	}
	res := require.Must(h.Execute(t.Context(), tool.Call{Name: "a.tool"}))(t)
	assert.Equalf(t, res.Text(), "a.tool:", "the first no longer answers")
}

func TestReplace(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	assert.ErrorIsf(t, h.Replace(echo("a")), tool.ErrNotFound, "Replace of a missing tool")
	assert.Equalf(t, h.Len(), 0, "Replace added a tool")
	require.NoError(t, h.Register(echo("a")))
	next := echo("a")
	next.Handler = echo("new").Handler
	require.NoError(t, h.Replace(next))
	if res := require.Must(h.Execute(t.Context(), tool.Call{Name: "a"}))(t); res.Text() != "new:" {
		t.Errorf("the old one still answers: %q", res.Text())
	}
}

func TestUpsert(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for _, version := range []string{"one", "two"} {
		next := echo("a", func(d *tool.Definition) { d.Title = version })
		next.Handler = echo(version).Handler
		got := require.Must(h.Upsert("plug", next))(t)
		if got.Title != version || got.Owner != "plug" || got.Handler == nil {
			t.Errorf("Upsert returned %+v", got)
		}
	}
	if h.Len() != 1 {
		t.Errorf("%d tools, want 1", h.Len())
	}
	_, err := h.Upsert("other", echo("a"))
	if !errors.Is(err, tool.ErrAlreadyExists) || !strings.Contains(err.Error(), "plugin plug") {
		t.Errorf("another owner's name: %v", err)
	}
	if res := require.Must(h.Execute(t.Context(), tool.Call{Name: "a"}))(t); res.Text() != "two:" {
		t.Errorf("answered %q, want the last", res.Text())
	}
}

func TestUnregisterTakesOneOwnersTools(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for name, owner := range map[string]string{"a": "x", "b": "x", "c": "y"} {
		require.Must(h.Upsert(owner, echo(name)))(t)
	}
	h.Unregister("x")
	h.Unregister("missing")
	assert.Equalf(t, strings.Join(h.Names(), " "), "c", "left")
}

func TestReadsAreCopies(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for _, name := range []string{"c", "a", "b"} {
		require.NoError(t, h.Register(echo(name, func(d *tool.Definition) {
			d.Categories, d.Sensitive = []string{"one"}, []string{"text"}
		})))
	}
	spoil := func(d *tool.Definition) {
		d.Name, d.Categories[0], d.Sensitive[0] = "spoilt", "spoilt", "spoilt"
		copy(d.InputSchema, "spoilt")
	}
	for _, got := range h.Tools(host.Filter{}) {
		spoil(&got.Definition)
	}
	for _, d := range require.Must(h.List(t.Context()))(t) {
		spoil(&d)
	}
	one, _ := h.Get("a")
	spoil(&one.Definition)
	h.Names()[0] = "spoilt"

	assert.Equalf(t, strings.Join(h.Names(), " "), "a b c", "names")
	for _, got := range h.Tools(host.Filter{Categories: []string{"one"}}) {
		if got.Sensitive[0] != "text" || strings.Contains(string(got.InputSchema), "spoilt") {
			t.Errorf("%s was changed through a copy: %+v", got.Name, got)
		}
	}
	if _, ok := h.Get("missing"); ok {
		t.Error("Get found a missing tool")
	}
}

func TestBadDefinitions(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for _, c := range []struct {
		name, text string
		spoil      func(*tool.Tool)
	}{
		{"description", "description is missing", func(t *tool.Tool) { t.Description = "" }},
		{"handler", "handler is nil", func(t *tool.Tool) { t.Handler = nil }},
		{"level", "unknown safety level", func(t *tool.Tool) { t.Safety = 9 }},
		{"characters", "characters", func(t *tool.Tool) { t.Name = "a tool" }},
		{"schema", "input schema", func(t *tool.Tool) { t.InputSchema = tool.Schema(`{"type":"objekt"}`) }},
		{"schema text", "input schema", func(t *tool.Tool) { t.InputSchema = tool.Schema(`{`) }},
		{"required", "required", func(t *tool.Tool) {
			t.InputSchema = tool.Schema(`{"type":"object","properties":{},"required":["x"]}`)
		}},
		{"output schema", "output schema", func(t *tool.Tool) { t.OutputSchema = tool.Schema(`{"type":7}`) }},
		{"remote reference", "input schema", func(t *tool.Tool) {
			t.InputSchema = tool.Schema(`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bad := echo("bad.tool")
			c.spoil(&bad)
			err := h.Register(bad)
			if tool.CodeOf(err) != tool.CodeInvalidDefinition || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want one that says %q", err, c.text)
			}
			assert.Equalf(t, h.Len(), 0, "it was registered")
		})
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for _, d := range []struct {
		name   string
		safety tool.Safety
		cats   []string
	}{
		{"look", tool.Safe, []string{"files"}}, {"find", tool.Safe, []string{"search"}},
		{"run", tool.Cautious, []string{"exec"}}, {"erase", tool.Dangerous, []string{"files"}}, {"unsaid", tool.Unset, nil},
	} {
		require.NoError(t, h.Register(echo(d.name, func(def *tool.Definition) {
			def.Safety, def.Categories, def.Title = d.safety, d.cats, "The "+d.name+" tool"
		})))
	}
	for _, c := range []struct {
		name   string
		filter host.Filter
		want   string
	}{
		{"all", host.Filter{}, "erase find look run unsaid"},
		{"safe", host.Filter{MaxSafety: tool.Safe}, "find look"},
		{"cautious", host.Filter{MaxSafety: tool.Cautious}, "find look run"},
		{"dangerous", host.Filter{MaxSafety: tool.Dangerous}, "erase find look run unsaid"},
		{"or", host.Filter{Categories: []string{"files", "exec"}}, "erase look run"},
		{"and", host.Filter{MaxSafety: tool.Cautious, Categories: []string{"files", "exec"}}, "look run"},
		{"search", host.Filter{Search: "THE FIND"}, "find"},
		{"none", host.Filter{Categories: []string{"nothing"}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for range 2 { // the second time it is remembered
				var names []string
				for _, got := range h.Tools(c.filter) {
					names = append(names, got.Name)
				}
				assert.Equal(t, strings.Join(names, " "), c.want)
			}
		})
	}
}

// An alias is never another tool's name, also when tools go and come back.
func TestAliases(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	long := strings.Repeat("x", 64)
	for _, name := range []string{"fs.read", "fs-read", long + "y"} {
		require.Must(h.Upsert("plug", echo(name)))(t)
	}
	for _, c := range []struct{ name, alias string }{{"fs.read", "fs_read"}, {"fs-read", "fs-read"}, {long + "y", long}} {
		if got, _ := h.Get(c.name); got.Alias != c.alias {
			t.Errorf("%.10s has the alias %q, want %q", c.name, got.Alias, c.alias)
		}
		if res := require.Must(h.Execute(t.Context(), tool.Call{Name: c.alias}))(t); res.Text() != c.name+":" {
			t.Errorf("%q runs %.20q", c.alias, res.Text())
		}
	}
	for _, err := range []error{h.Register(echo("fs_read")), h.Register(echo(long))} {
		if !errors.Is(err, tool.ErrAlreadyExists) || !strings.Contains(err.Error(), "the name under which models call") {
			t.Errorf("a name that is an alias: %v", err)
		}
	}

	live := &changing{defs: make(chan []tool.Definition, 1), changes: make(chan struct{})}
	live.Provider = require.Must(tool.NewSet(echo("a.b"), echo("a_b")))(t)
	live.defs <- []tool.Definition{echo("a.b").Definition}
	require.Must(h.Attach(t.Context(), "live", live))(t)
	live.changes <- struct{}{}
	live.defs <- []tool.Definition{echo("a_b").Definition, echo("a.b").Definition}
	live.changes <- struct{}{}
	live.defs <- []tool.Definition{echo("a_b").Definition, echo("a.b").Definition}
	if res := require.Must(h.Execute(t.Context(), tool.Call{Name: "a_b"}))(t); res.Text() != "a.b:" {
		t.Errorf("the alias of a.b runs %q", res.Text())
	}
}

// What a filter chose is not remembered beyond a change.
func TestFilterSeesChanges(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	count := func(search string) int { return len(h.Tools(host.Filter{Search: search})) }
	for i := range 200 { // more filters than are remembered
		if n := count(strings.Repeat("x", i+1)); n != 0 {
			t.Fatalf("%d tools", n)
		}
	}
	for want, name := range []string{"tool.a", "tool.b"} {
		if n := count("tool"); n != want {
			t.Errorf("%d tools, want %d", n, want)
		}
		require.Must(h.Upsert("plug", echo(name)))(t)
	}
	h.Unregister("plug")
	if n := count("tool"); n != 0 {
		t.Errorf("%d tools after they went", n)
	}
}
