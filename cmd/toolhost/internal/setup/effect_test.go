package setup

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// commandKeys are the settings that the command itself looks at, as flags go before
// them. Its own test has each.
var commandKeys = []string{"plugin_dirs", "install_dir", "root", "cache_dir", "socket", "lock", "hold_new", "log_level", "audit.path",
	"metrics.address", "metrics.profiles",
	"mcp.listen", "mcp.url", "mcp.hosts", "mcp.origins", "mcp.tls.cert", "mcp.tls.key", "mcp.oidc.issuer", "mcp.oidc.audience",
	"mcp.oidc.claim", "mcp.limits.connections", "mcp.limits.requests", "mcp.limits.body",
	"mcp.tasks.after", "mcp.tasks.at_once", "mcp.tasks.required", "mcp.tasks.never", "mcp.tasks.ttl", "mcp.tasks.max",
}

type object = map[string]any

// leaf is one setting of the schema.
type leaf struct {
	path   []string
	schema object
}

// leaves are all settings of the schema, each name of a plugin, tool or variable being
// "example", and of a caller the one there is.
func leaves(root, s object, path ...string) []leaf {
	if ref, ok := s["$ref"].(string); ok {
		merged := maps.Clone(root["$defs"].(object)[strings.TrimPrefix(ref, "#/$defs/")].(object))
		maps.Copy(merged, s)
		delete(merged, "$ref")
		return leaves(root, merged, path...)
	}
	properties, _ := s["properties"].(object)
	if all, ok := s["allOf"].([]any); ok { // without the properties that are false
		return slices.DeleteFunc(leaves(root, all[0].(object), path...), func(l leaf) bool { return properties[l.path[len(path)]] == false })
	}
	if s["writeOnly"] == true {
		return []leaf{{path, s}}
	}
	all := maps.Clone(properties)
	if below, ok := s["additionalProperties"].(object); ok {
		all = object{"example": below}
		if slices.Equal(path, []string{"callers"}) {
			all = object{CLI: below}
		}
	}
	if len(all) == 0 {
		return []leaf{{path, s}}
	}
	var out []leaf
	for _, key := range slices.Sorted(maps.Keys(all)) {
		out = append(out, leaves(root, all[key].(object), append(slices.Clone(path), key)...)...)
	}
	return out
}

// values are what a setting may be, but for its default.
func (l leaf) values(t *testing.T) []any {
	t.Helper()
	out, _ := l.schema["examples"].([]any)
	words, _ := l.schema["enum"].([]any)
	out = append(slices.Clone(out), words...)
	if len(l.path) > 2 && l.path[len(l.path)-2] == "environment" { // a variable
		out = append(out, "value", object{"from_env": "REFERRED"})
	}
	out = slices.DeleteFunc(out, func(v any) bool { return reflect.DeepEqual(v, l.schema["default"]) })
	if len(out) == 0 {
		t.Errorf("%v has no example in the schema", l.path)
	}
	return out
}

// text is a file with that setting. JSON is YAML too.
func (l leaf) text(t *testing.T, v any) []byte {
	t.Helper()
	for _, key := range slices.Backward(l.path) {
		v = object{key: v}
	}
	out := require.Must(json.Marshal(v))(t)
	return out
}

func parsed(t *testing.T, text []byte) *config.Config {
	t.Helper()
	c, err := config.Parse(filepath.Join(t.TempDir(), "toolhost.yaml"), text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}

func lookup(name string) (string, bool) { return "referred", name == "REFERRED" }

// effects are all that a configuration means to a host.
func effects(t *testing.T, c *config.Config) string {
	t.Helper()
	settings, err := PluginSettings(c, Run{Lookup: lookup})
	require.NoError(t, err)
	h := require.Must(host.New(Options(c)...))(t)
	caller := CallerOf(c, CLI)
	s := h.Session(caller.Session()...)
	out := []any{c.Audit.Required, settings("example"), settings("other"), settings("example").Env, settings("other").Env, c.Tools, s.Holds("fs:read"), s.ResultLimit(), s.Caller(), caller.CanonicalNames(), c.Sessions, c.Audit, Trust(c)}
	out = append(out, len(s.Tools(host.Filter{})))
	for _, d := range []tool.Definition{{Name: "fs.read", Safety: tool.Safe}, {Name: "fs.write", Safety: tool.Cautious}, {Name: "db.delete"}} {
		out = append(out, s.Sees(&d))
	}
	if a := caller.Approver(Askers{}); a != nil {
		d, err := a.Approve(t.Context(), policy.Request{})
		out = append(out, d, err)
	}
	asked := func(who string) policy.Approver {
		return policy.ApproverFunc(func(ctx context.Context, _ policy.Request) (policy.Decision, error) {
			end, _ := ctx.Deadline()
			out = append(out, who, time.Until(end).Round(time.Minute))
			return policy.Decision{}, policy.ErrCannotAsk
		})
	}
	all := Askers{Client: asked("client"), Terminal: asked("terminal"), Queue: asked("queue")}
	_, err = caller.Approver(all).Approve(t.Context(), policy.Request{Definition: tool.Definition{Name: "example"}})
	out = append(out, err)
	text := require.Must(json.Marshal(out))(t)
	return string(text)
}

// Every key of the file does something, or the file is refused for it.
func TestEveryKeyHasAnEffect(t *testing.T) {
	t.Parallel()
	var root object
	require.NoError(t, json.Unmarshal(config.Schema(), &root))
	all := leaves(root, root)
	if len(all) < 60 {
		t.Fatalf("the schema has %d settings: is it read well?", len(all))
	}
	nothing := effects(t, parsed(t, nil))
	for _, l := range all {
		name := strings.Join(l.path, ".")
		if slices.Contains(commandKeys, name) || l.path[0] == "mcp_servers" || l.path[0] == "nats" || l.path[0] == "telemetry" { // packages servers, daemon and telemetry have tests of those
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := nothing
			for _, v := range l.values(t) {
				if l.path[0] == "tools" || l.path[0] == "callers" { // being named is not an effect
					before = effects(t, parsed(t, []byte(fmt.Sprintf(`{%q: {%q: {}}}`, l.path[0], l.path[1]))))
				}
				text := l.text(t, v)
				if l.path[0] == "trust" { // which is refused if it is incomplete
					text = withPublisher(t, text)
					before = effects(t, parsed(t, withPublisher(t, []byte("{}"))))
				}
				c := parsed(t, text)
				if err := Check(c); err != nil {
					if key := strings.Join(l.path, "."); !strings.Contains(err.Error(), key+": ") {
						t.Errorf("%s: %v", l.text(t, v), err)
					}
				} else if effects(t, c) == before && !sameAsUnset(l, v) {
					t.Errorf("%s has no effect", l.text(t, v))
				}
			}
		})
	}
}

// withPublisher is a file with a publisher, of whom it may say more.
func withPublisher(t *testing.T, text []byte) []byte {
	t.Helper()
	var file, trust, all, one object
	require.NoError(t, json.Unmarshal(text, &file))
	below := func(o object, key string) object {
		if _, ok := o[key]; !ok {
			o[key] = object{}
		}
		return o[key].(object)
	}
	trust = below(file, "trust")
	all = below(trust, "publishers")
	one = below(all, "example")
	if _, ok := one["keys"]; !ok {
		one["keys"] = []string{"RWTIoFL5WYgZ5h7tO+DRuvyX7wmHHHLYCN3+RMWBzFA3NQtiXHu0AAAA"}
	}
	if _, ok := one["plugins"]; !ok {
		one["plugins"] = []string{"example"}
	}
	out := require.Must(json.Marshal(file))(t)
	return out
}

// sameAsUnset are values that say what holds anyway for the tools and callers of this
// test.
func sameAsUnset(l leaf, v any) bool {
	return l.path[len(l.path)-1] == "max_safety" && v == "dangerous"
}
