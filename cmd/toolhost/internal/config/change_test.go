package config

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestSees(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		tools  string
		name   string
		safety tool.Safety
		want   bool
	}{
		{"{}", "any", tool.Dangerous, true},
		{"{allow: [fs.*]}", "fs.read", tool.Safe, true}, {"{allow: [fs.*]}", "fs.", tool.Safe, true}, {"{allow: [fs.*]}", "xfs.read", tool.Safe, false},
		{"{allow: ['*read*file']}", "xread_file", tool.Safe, true}, {"{allow: ['*read*file']}", "file_read", tool.Safe, false},
		{"{allow: ['ab*ba']}", "aba", tool.Safe, false}, {"{allow: ['ab*ba']}", "abba", tool.Safe, true},
		{"{allow: ['a*b*b']}", "ab", tool.Safe, false}, {"{allow: ['a*b*b']}", "abxb", tool.Safe, true},
		{"{allow: ['*']}", "x", tool.Safe, true}, {"{allow: [x]}", "X", tool.Safe, false},
		{"{deny: ['*.delete']}", "fs.delete", tool.Safe, false}, {"{deny: ['*.delete']}", "fs.read", tool.Safe, true},
		{"{allow: [fs.*], deny: [fs.delete]}", "fs.delete", tool.Safe, false},
		{"{max_safety: cautious}", "x", tool.Cautious, true}, {"{max_safety: cautious}", "x", tool.Dangerous, false}, {"{max_safety: cautious}", "x", tool.Unset, false},
	} {
		c := parseOK(t, "callers:\n  a:\n    tools: "+x.tools+"\n")
		assert.Equalf(t, c.Callers["a"].Sees(x.name, x.safety), x.want, "%s: %s (%v) is seen", x.tools, x.name, x.safety)
	}
}

// What is read is written as the file has it.
func TestShown(t *testing.T) {
	t.Parallel()
	const file = `{
	"plugins": {"p": {
		"idle_time": "1h30m", "call_timeout": "100ms", "max_timeout": "never", "carrier": "unary",
		"limits": {"running": "unlimited", "max_result": "1025B"}, "restart": {"free": "unlimited"}
	}},
	"tools": {"t": {"rate": "5/1m", "permission": "none", "approval": "ask", "timeout": "1h"}, "u": {"rate": "unlimited"}},
	"audit": {"required": "none"}, "lock": "off"
	}`
	text := require.Must(json.Marshal(parseOK(t, file)))(t)
	var got, want map[string]any
	require.NoError(t, json.Unmarshal(text, &got))
	require.NoError(t, json.Unmarshal([]byte(file), &want))
	within(t, "", got, want)
}

// within checks that got has all of want.
func within(t *testing.T, key string, got, want any) {
	t.Helper()
	wanted, ok := want.(map[string]any)
	if !ok {
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
		return
	}
	has, _ := got.(map[string]any)
	for name := range wanted {
		within(t, key+"."+name, has[name], wanted[name])
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	const before = "defaults: {idle_time: 1m}\nplugins:\n  a: {arguments: [x]}\n  b: {environment: {S: one}}\n" +
		"  gone: {arguments: [y]}\ntools: {t: {disable: true}}\n"
	if d := Diff(parseOK(t, before), parseOK(t, "# c\n"+before+"callers: {mcp: {}}")); d.any() {
		t.Errorf("%+v", d)
	}
	d := Diff(parseOK(t, before), parseOK(t, `
log_level: info
root: elsewhere
defaults: {idle_time: 2m, carrier: unary}
plugins:
  a: {arguments: [x], carrier: socket, idle_time: 1m}
  b: {environment: {S: two}}
  new: {config: {b: 1, a: 2}, enabled: false}
tools: {t: {disable: true}, u: {safety: safe}}
callers: {cli: {approval: yes}, mcp: {}}
`))
	want := Changes{
		Host: []string{"log_level", "root"}, Defaults: []string{"carrier", "idle_time"},
		Plugins: map[string][]string{
			"a": nil, "b": {"carrier", "environment", "idle_time"}, "gone": {"arguments", "carrier", "idle_time"},
			"new": {"carrier", "config", "enabled", "idle_time"},
		},
		Tools: []string{"u"}, Callers: []string{"cli"},
	}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("%+v\nwant\n%+v", d, want)
	}
}
