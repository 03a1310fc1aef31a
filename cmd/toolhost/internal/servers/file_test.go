package servers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const secret = "hunter2-Zx9"

func base(string) config.Server { return config.Default().NewServer() }

func in(variables map[string]string) config.Surroundings {
	return config.Surroundings{Root: filepath.FromSlash("/work"), Lookup: func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	}}
}

func parseOK(t *testing.T, content string) *File {
	t.Helper()
	f := require.Must(Parse(Content{"mcp.json", []byte(content)}, base))(t)
	return f
}

// The files that people have for other programs are read as they are.
func TestParseOthersFiles(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"Claude Desktop": `{"mcpServers": {"files": {"command": "npx", "args": ["-y", "x", "/work"], "env": {"A": "1"}}}}`,
		"Claude Code": `{
  "mcpServers": {
    "files": {"type": "stdio", "command": "npx", "args": ["-y", "x", "${DIR:-/work}"], "env": {"A": "${ONE}"}},
  }
}`,
		"Cursor": "\ufeff" + `{"mcpServers": {"files": {"command": "npx", "args": ["-y", "x", "${workspaceFolder}"], "env": {"A": "${env:ONE}", "B": null}}}}`,
		"VS Code": `{
  // asked for once
  "inputs": [{"id": "key", "type": "promptString"}],
  "servers": {
    /* a comment */ "files": {"type": "stdio", "command": "npx", "args": ["-y", "x", "${workspaceFolder}",], "env": {"A": 1}, "gallery": true},
  },
}`,
		"VS Code's settings": `{"mcp": {"servers": {"files": {"command": "npx", "args": ["-y", "x", "/work"], "env": {"A": "1"}}}}}`,
	} {
		f := parseOK(t, content)
		if len(f.Entries) != 1 || len(f.Warnings) > 0 {
			t.Errorf("%s: %+v, %v", name, f.Entries, f.Warnings)
			continue
		}
		e := f.Entries[0]
		got, err := e.Server.Resolve(in(map[string]string{"ONE": "1"}))
		if err != nil || e.Err != nil || e.Name != "files" || !e.Server.Enabled || got.Command != "npx" ||
			strings.Join(got.Args, " ") != "-y x /work" || strings.Join(got.Env, " ") != "A=1" {
			t.Errorf("%s: %v, %v, %q %q %q", name, err, e.Err, got.Command, got.Args, got.Env)
		}
	}
	f := parseOK(t, `{"mcpServers": {
		"http": {"type": "http", "url": "https://a/mcp", "headers": {"Authorization": "Bearer ${T}"}},
		"sse": {"type": "sse", "url": "https://a/sse"}, "bare": {"url": "https://a", "oauth": {"clientId": "c", "clientSecret": "${T}", "callbackPort": 1}},
		"streamable": {"type": "streamable-http", "url": "https://a"},
		"off": {"disabled": true, "command": "x"}, "on": {"disabled": false, "command": "x"},
		"cursor": {"url": "https://a", "auth": {"CLIENT_ID": "d", "scopes": ["s"]}},
	}}`)
	by := map[string]config.Server{}
	for _, e := range f.Entries {
		if e.Err != nil {
			t.Errorf("%s: %v", e.Name, e.Err)
		}
		by[e.Name] = e.Server
	}
	if got, err := by["http"].Resolve(in(map[string]string{"T": "t"})); err != nil || got.Headers["Authorization"] != "Bearer t" {
		t.Errorf("%v, %v", got.Headers, err)
	}
	if got, err := by["bare"].Resolve(in(map[string]string{"T": "t"})); err != nil || got.ClientSecret != "t" || by["bare"].OAuth.Port != 1 {
		t.Errorf("%q, %d, %v", got.ClientSecret, by["bare"].OAuth.Port, err)
	}
	if by["http"].Transport != config.TransportHTTP || by["bare"].Transport != config.TransportHTTP || by["sse"].Transport != config.TransportSSE ||
		by["streamable"].Transport != config.TransportHTTP || by["off"].Enabled || !by["on"].Enabled ||
		by["bare"].OAuth.ClientID != "c" || by["cursor"].OAuth.ClientID != "d" || len(by["cursor"].OAuth.Scopes) != 1 {
		t.Errorf("%+v", by)
	}
}

// One broken entry costs that entry, and its error has the place and the reason, without a value.
func TestParseBrokenEntries(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		`[]`:             "not an object",
		`{"command": 1}`: "command: it is not text",
		`{"command": "x", "args": "` + secret + `"}`:                          "args: it is not a list of texts",
		`{"command": "x", "args": ["a", {"` + secret + `": 1}]}`:              "args: [1]: it is not text",
		`{"command": "x", "env": ["` + secret + `"]}`:                         "env: it is not an object",
		`{"command": "x", "env": {"A": ["` + secret + `"]}}`:                  "env: A: it is not text",
		`{"command": "x", "env": {"A=B": "` + secret + `"}}`:                  "is not a name",
		`{"command": "x", "disabled": "` + secret + `"}`:                      "disabled: it is neither true nor false",
		`{"type": "ws", "url": "x"}`:                                          "type: ws is not supported",
		`{"command": "x", "command": "y"}`:                                    "command: it is there twice",
		`{"url": "https://a", "auth": {"CLIENT_SECRET": ["` + secret + `"]}}`: "auth: it is not text",
		`{"url": "https://a", "oauth": {"callbackPort": 65536}}`:              "oauth: it is not a port",
		`{"url": "https://a", "oauth": {"callbackPort": "1"}}`:                "oauth: it is not a port",
		`null`: "not an object",
	} {
		f := parseOK(t, "{\"mcpServers\": {\n\"good\": {\"command\": \"a\"},\n\"bad\": "+entry+",\n\"fine\": {\"command\": \"b\"}}}")
		if len(f.Entries) != 3 || f.Entries[0].Err != nil || f.Entries[2].Err != nil {
			t.Errorf("%s: %+v", entry, f.Entries)
			continue
		}
		bad := f.Entries[1]
		if bad.Err == nil || !strings.Contains(bad.Err.Error(), want) || strings.Contains(bad.Err.Error(), secret) || bad.From != "mcp.json:3" {
			t.Errorf("%s at %s: %v, want %s", entry, bad.From, bad.Err, want)
		}
	}
}

func TestParseWarnings(t *testing.T) {
	t.Parallel()
	f := parseOK(t, `{"a": 1, "b": 2, "c": 3, "d": 4, "mcpServers": {
		"My Server!": {"command": "x", "autoApprove": ["`+secret+`"]},
		"my-server": {"command": "y"},
		"@scope/name": {"command": "z"},
		"...": {"command": "z"}}}`)
	var names []string
	for _, e := range f.Entries {
		names = append(names, e.Name)
	}
	assert.Equalf(t, strings.Join(names, " "), "My-Server scope-name", "the servers")
	all := strings.Join(f.Warnings, "\n")
	for _, want := range []string{
		"mcp.json:1: no effect here: a, b, c and 1 more", `mcp.json:2: the server "My Server!" is called My-Server here`,
		"mcp.json:2: the server My-Server has an unknown key, which has no effect: autoApprove",
		`mcp.json:3: the server "my-server" is left out: "My Server!" has its name already`, "its name has no letter or digit",
	} {
		assert.Containsf(t, all, want, "no warning says: %s", want)
	}
	assert.NotContains(t, all, secret)
}

// A file that cannot be read at all is an error with its place and without its text.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"{\"mcpServers\": {\n\"a\": " + secret + "}}":     "mcp.json:2: the file is not JSON, from column 6 on",
		"{\"mcpServers\": {\n\"a\": \"\\x" + secret + `"`: "mcp.json:2: the file is not JSON",
		"":                             "not JSON",
		"[]":                           "not a JSON object",
		"{}":                           "neither mcpServers nor servers",
		`{"context_servers": {}}`:      "neither mcpServers nor servers",
		"{\"mcpServers\": {}} // \xff": "not UTF-8",
		strings.Repeat("[", 1<<20):     "more than 200 levels",
		`{"a": "\"` + strings.Repeat("[", 300) + `", // it's "` + "\n" + strings.Repeat("[", 300): "more than 200 levels",
	} {
		_, err := Parse(Content{"mcp.json", []byte(content)}, base)
		if tool.CodeOf(err) != tool.CodeInvalidArguments || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%.60s: %v, want %s", content, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"mcpServers": {"a": {"command": "x", "args": ["a",], "env": {"A": 1}}}} // c`))
	f.Add([]byte(`{"servers": {"a": {"url": "https://x", "headers": {"A": null}}, "a": []}, "inputs": []}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		file, err := Parse(Content{"mcp.json", content}, base)
		if (file == nil) != (err != nil) {
			t.Fatalf("%v, %v", file, err)
		}
		if err != nil {
			return
		}
		for _, e := range file.Entries {
			if hostName(e.Name) != e.Name || e.Name == "" {
				t.Fatalf("the name %q", e.Name)
			}
			_, _ = e.Server.Resolve(in(nil))
		}
	})
}

// Only what the operator alone can have written is read.
func TestRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mcp.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"mcpServers": {}}`), 0o600))
	require.Must(Read(path))(t)
	require.NoError(t, os.Chmod(path, 0o666))
	if _, err := Read(path); tool.CodeOf(err) != tool.CodePermissionDenied {
		t.Errorf("a file that others may write: %v", err)
	}
	if _, err := Read(path + "x"); tool.CodeOf(err) != tool.CodeNotFound {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestCollect(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	read := func(path string) Content {
		content := require.Must(Read(path))(t)
		return content
	}
	c := require.Must(config.Load(write("toolhost.yaml", `mcp_servers:
  own: {command: own}
  run: {idle_time: 1h, enabled: false}
  alone: {idle_time: 1h}
  unset: {command: x, args: ["${NOT_SET}"]}
`)))(t)
	one := write("one.json", `{"mcpServers": {"run": {"command": "one"}, "OWN": {"command": "not"}, "first": {"command": "1"}, "bad": []}}`)
	two := write("two.json", `{"mcpServers": {"run": {"command": "not"}, "first": {"command": "not"}, "last": {"url": "https://x"}}}`)
	set := require.Must(Collect(c, []Content{read(one), read(two)}, in(nil)))(t)
	got := map[string]string{}
	for _, s := range set.All {
		if s.Err != nil {
			got[s.Name] = s.Err.Error()
			continue
		}
		got[s.Name] = s.Server.Command + s.Target.URL + " of " + filepath.Base(s.From)
	}
	for name, want := range map[string]string{
		"own": "own of toolhost.yaml:2", "run": "one of one.json:1", "first": "1 of one.json:1", "last": "https://x of two.json:1",
		"alone": "it has neither command nor url", "unset": "args[0]: the variable NOT_SET is not set", "bad": "the entry is not an object",
	} {
		if !strings.HasPrefix(got[name], want) {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
		delete(got, name)
	}
	if len(got) > 0 || len(set.Warnings) != 3 {
		t.Errorf("%v, %q", got, set.Warnings)
	}
	for _, s := range set.All {
		if s.Name == "run" && s.Server.Enabled {
			t.Error("a server that the configuration disables is enabled by a file")
		}
	}
	if _, err := Collect(c, []Content{{Path: "x"}}, in(nil)); err == nil {
		t.Error("a file that cannot be read is passed over")
	}
}
