package servers

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// Every setting of a server does something: it changes how the server is reached or run, and so
// it makes a daemon mount the server again.
func TestEveryKeyHasAnEffect(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "toolhost.yaml")
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), "x.env"), []byte("F=1\n"), 0o600))
	const program, far = "command: x", "url: 'https://a/mcp'"
	values := map[string][2]string{ // by keys, what is there without it, and what it says
		"command": {program, "command: y"}, "args": {program, "args: [a]"}, "env": {program, "env: {A: b}"}, "env_file": {program, "env_file: x.env"},
		"cwd": {program, "cwd: a"}, "url": {far, "url: 'https://b/mcp'"}, "headers": {far, "headers: {A: b}"}, "transport": {far, "transport: sse"},
		"oauth": {far, "oauth: {client_id: a}"}, "include": {program, "include: [a]"}, "exclude": {program, "exclude: [a]"},
		"enabled": {program, "enabled: false"}, "namespace": {program, "namespace: \"off\""}, "sandbox": {program, "sandbox: {level: strict}"}, "idle_time": {program, "idle_time: 1h"},
		"start_timeout": {program, "start_timeout: 2s"}, "call_timeout": {program, "call_timeout: 2s"}, "max_timeout": {program, "max_timeout: 2h"},
		"limits": {program, "limits: {running: 1}"}, "restart": {program, "restart: {free: 5}"},
		"questions": {program, "questions: {sampling: true}"}, "revision": {program, "revision: 2025-11-25"},
		"arguments": {program, "arguments: unchecked"},
	}
	var schema struct {
		Defs struct {
			Server struct{ Properties map[string]any }
		} `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(config.Schema(), &schema))
	known := slices.Sorted(maps.Keys(schema.Defs.Server.Properties))
	if tried := slices.Sorted(maps.Keys(values)); !slices.Equal(known, tried) {
		t.Errorf("the schema has %v, tried are %v", known, tried)
	}
	of := func(text string) (Named, string) {
		c := require.Must(config.Parse(path, []byte("mcp_servers: {s: {"+text+"}}")))(t)
		set, err := Collect(c, nil, in(nil))
		if err != nil || set.All[0].Err != nil {
			t.Fatal(err, set.All[0].Err)
		}
		n := set.All[0]
		return n, fmt.Sprintf("%+v %+v", n.upstream(), n.settings())
	}
	for key, v := range values {
		with := v[0] + ", " + v[1]
		if key == "command" || key == "url" {
			with = v[1]
		}
		before, was := of(v[0])
		after, is := of(with)
		if was == is || before.revision() == after.revision() {
			t.Errorf("%s has no effect", v[1])
		}
	}
}

// A secret that is replaced makes no other server, and a new start.
func TestIdentity(t *testing.T) {
	t.Parallel()
	of := func(env, args string) Named {
		c, err := config.Parse("toolhost.yaml", []byte("mcp_servers: {s: {command: x, env: {"+env+"}, args: ["+args+"]}}"))
		require.NoError(t, err)
		set := require.Must(Collect(c, nil, in(map[string]string{"A": "a"})))(t)
		return set.All[0]
	}
	one, two := of("API_TOKEN: one", "--key, one"), of("API_TOKEN: two", "--key, two")
	if one.Server.Identity() != two.Server.Identity() || one.revision() == two.revision() {
		t.Error("a server with another secret is another server, or not started again")
	}
	for _, other := range []Named{of("API_TOKEN: one, LEVEL: a", "--key, one"), of("API_TOKEN: one", "--key, one, x"), of("", "--key, one")} {
		if other.Server.Identity() == one.Server.Identity() {
			t.Errorf("%+v is the same server", other.Server)
		}
	}
}

// Variables of one name and different values get names of their own.
func TestMoved(t *testing.T) {
	t.Parallel()
	f := parseOK(t, `{"servers": {
		"a": {"command": "x", "args": ["--api-key", "k1", "${input:api key}"], "env": {"TOKEN": "t1", "LEVEL": "debug"}},
		"b": {"command": "x", "env": {"TOKEN": "t2"}}, "c": {"command": "x", "env": {"TOKEN": "t1"}}}}`)
	var m Moved
	var lines []string
	for _, e := range f.Entries {
		lines = append(lines, m.Server(e).Lines(e.Name)...)
	}
	want := []string{
		"a:", "  command: x", `  args: ["--api-key", "${A_API_KEY}", "${API_KEY}"]`, "  env:", "    LEVEL: debug", `    TOKEN: "${TOKEN}"`,
		"b:", "  command: x", "  env:", `    TOKEN: "${TOKEN_2}"`, "c:", "  command: x", "  env:", `    TOKEN: "${TOKEN}"`,
	}
	assert.EqualSlices(t, lines, want)
	var names []string
	for _, v := range m.Variables {
		names = append(names, v.Name)
	}
	if slices.Sort(names); !slices.Equal(names, []string{"API_KEY", "A_API_KEY", "TOKEN", "TOKEN_2"}) {
		t.Errorf("%q", names)
	}
}
