package config

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

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
		if got := c.Caller("a").Sees(x.name, x.safety); got != x.want {
			t.Errorf("%s: %s (%v) is seen: %v", x.tools, x.name, x.safety, got)
		}
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"10m": Duration(10 * time.Minute).String(), "1h": Duration(time.Hour).String(), "1h30m": Duration(90 * time.Minute).String(),
		"30s": Duration(30 * time.Second).String(), "100ms": Duration(100 * time.Millisecond).String(), "never": Duration(0).String(),
		"64MiB": Size(64 << 20).String(), "1025B": Size(1025).String(), "unlimited": Size(0).String(),
		"5/1m": Rate{5, Duration(time.Minute)}.String(),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	const before = "defaults: {idle_time: 1m}\nplugins:\n  a: {arguments: [x]}\n  b: {environment: {S: one}}\n  gone: {arguments: [y]}\ntools: {t: {disable: true}}\n"
	if d := Diff(parseOK(t, before), parseOK(t, "# c\n"+before)); d.Any() {
		t.Errorf("%+v", d)
	}
	d := Diff(parseOK(t, before), parseOK(t, `
log_level: info
root: elsewhere
defaults: {idle_time: 2m, carrier: unary}
plugins:
  a: {arguments: [x], carrier: stream, idle_time: 1m}
  b: {environment: {S: two}}
  new: {config: {b: 1, a: 2}, enabled: false}
tools: {t: {disable: true}, u: {safety: safe}}
callers: {cli: {approval: yes}, mcp: {}}
`))
	carrier := []string{"carrier"}
	idle := []string{"idle_time"}
	want := Changes{
		Host: []string{"log_level", "root"},
		Plugins: []PluginChange{
			{Name: "a"}, {"b", []string{"carrier", "environment"}, idle}, {"gone", []string{"arguments", "carrier"}, idle},
			{"new", []string{"carrier", "config"}, []string{"enabled", "idle_time"}},
		},
		Defaults: PluginChange{"", carrier, idle},
		Tools:    []string{"u"}, Callers: []string{"cli"},
	}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("%+v\nwant\n%+v", d, want)
	}
	if p := d.Plugin("a"); p.Any() || p.Restart() {
		t.Errorf("%+v", p)
	}
	if p := d.Plugin("unnamed"); !p.Restart() || p.Name != "unnamed" {
		t.Errorf("%+v", p)
	}
}

// Each field of a plugin's settings is compared.
func TestDiffKnowsEachField(t *testing.T) {
	t.Parallel()
	a, b := Plugin{}, Plugin{
		Enabled: true, Arguments: []string{"x"}, Environment: Environment{{Name: "X"}}, Config: []byte("{}"), Carrier: "x", Namespace: "x", Previews: true,
		IdleTime: 1, StartTimeout: 1, CallTimeout: 1, MaxTimeout: 1, Limits: Limits{Running: 1}, Restart: Restart{Free: 1},
	}
	for i := range reflect.TypeFor[Plugin]().NumField() {
		c := a
		to := reflect.ValueOf(&c).Elem().Field(i)
		to.Set(reflect.ValueOf(b).Field(i))
		key := tagOf(reflect.TypeFor[Plugin]().Field(i))
		if d := diffPlugin("p", a, c); !reflect.DeepEqual(append(d.Process, d.Policy...), []string{key}) {
			t.Errorf("%s: %+v", key, d)
		}
	}
}

func tagOf(f reflect.StructField) string {
	tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return tag
}

func TestCheckPluginConfig(t *testing.T) {
	t.Parallel()
	const declared = `{"type": "object", "properties": {"port": {"type": "integer"}, "host": {"type": "string"}}, "required": ["host"], "additionalProperties": false}`
	c := parseOK(t, `plugins:
  good: {config: {host: h, port: 1}}
  bad:
    config:
      port: many
      prot: 5
  none: {enabled: true}
`)
	for _, x := range []struct {
		name, schema string
		want         []string
	}{
		{"good", declared, nil}, {"none", "", nil}, {"none", `{"type": "object"}`, nil},
		{"bad", declared, []string{
			"toolhost.yaml:5:7: plugins.bad.config: missing required property: host",
			"toolhost.yaml:5:7: plugins.bad.config: unexpected property: prot",
			"toolhost.yaml:5:7: plugins.bad.config: invalid value for port: expected integer, got string",
		}},
		{"none", declared, []string{"toolhost.yaml:7:3: plugins.none.config: missing required property: host"}},
		{"other", declared, []string{"toolhost.yaml:1:1: plugins.other.config: missing required property: host"}},
		{"good", "", []string{"plugins.good.config: the plugin takes no configuration (remove it)"}},
		{"good", `{"type": 5}`, []string{"cannot be used"}},
	} {
		err := c.CheckPluginConfig(x.name, []byte(x.schema))
		var e *Error
		if len(x.want) == 0 {
			if err != nil {
				t.Errorf("%s: %v", x.name, err)
			}
			continue
		}
		if !errors.As(err, &e) || len(e.Problems) != len(x.want) {
			t.Errorf("%s: %v, want %q", x.name, err, x.want)
			continue
		}
		for _, want := range x.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v\nwant %s", x.name, err, want)
			}
		}
	}
}
