package connect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

var (
	local  = Entry{Command: "/opt/a b/toolhost", Args: []string{"serve", "--mcp", "stdio", "--root", "/x&y"}, Pass: []string{"HOME", "XDG_RUNTIME_DIR"}}
	remote = Entry{URL: "http://127.0.0.1:7411/mcp", Headers: map[string]string{"Authorization": "Bearer " + Secret}}
)

// The files that clients and people write, each in its odd form.
var files = map[string][]string{
	"claude": {
		"", " \n", "{}", "{ }\n", bom + "{}", "{\n}", "{\r\n}\r\n", bom,
		"{\n  \"mcpServers\": {}\n}", "{\n  \"a\": 1\n}\n", `{"a":1,"mcpServers":{"other":{"command":"x","extra":[1,2.50,1e3]}},"z":"\u00e9"}`,
		"{\n    \"z\": 1,\n    \"mcpServers\": {\n        \"other\": {\"command\": \"x\"}\n    },\n    \"a\": 2}",
		"{\r\n\t\"mcpServers\": {\r\n\t\t\"other\": {}\r\n\t}\r\n}",
		"{\n  \"mcpServers\": {\n    \"toolhost\": {\"type\": \"stdio\", \"command\": \"old\", \"env\": {\"KEY\": \"hunter2\"}},\n    \"other\": {}\n  }\n}\n",
		"{\n  \"mcpServers\": {\n    \"toolhost\": {\n      \"command\": \"old\"\n    }\n  }\n}\n",
		// Names that are almost it, and it elsewhere.
		"{\n  \"toolhost\": {\"mcpServers\": {\"toolhost\": {}}},\n  \"mcpServers\": {\"toolhosts\": {}}\n}",
	},
	"gemini": {
		"// mine\n{\n  // before\n  \"mcpServers\": { // behind\n    \"a\": {}, // of a\n    /* b */ \"b\": {} // of b\n    // last\n  },\n} // end",
		"{\"mcpServers\": {\"a\": {} /* , */ }}", "{\"mcpServers\": {\n// only this\n}}", "{\"mcpServers\": {\"a\": {},}}",
		"{\n  \"mcpServers\": {\n    \"a\": {},\n    // \"toolhost\": {},\n  },\n}",
	},
	"opencode": {
		"{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  // c\n  \"mcp\": {\"a\": {\"type\": \"local\", \"command\": [\"x\"]}},\n}",
		"{\"mcp\": {\"servers\": {\"a\": {}}}}", "{\"mcp\": {\"toolhost\": {\"type\": \"local\", \"command\": [\"/old\", \"serve\"]}}}",
	},
	"vscode": {"", "{\n\t\"servers\": {},\n\t\"inputs\": []\n}", "{\n\t\"mcpServers\": {\"toolhost\": {}}\n}"},
	"cursor": {"{\"mcpServers\": {\"a\": {\"url\": \"http://x\"}}}\n"},
	"codex": {
		"", "\n", bom + "a = 1", "model = \"x\" # c", "a = 1\r\n\r\n[b]\r\nc = 2\r\n",
		"[mcp_servers.other] # of it\n# inside\ncommand=\"x\"\nargs = [\n  \"a\",\n]\n\n[tui]\n\n\n# last",
		"[mcp_servers.toolhost]\ncommand = \"old\"\n# of args\nargs = []\n\n[mcp_servers.toolhost.env]\nKEY = \"hunter2\"\n\n# of other\n[mcp_servers.other]\ncommand = \"x\"\n",
		"[ mcp_servers . \"toolhost\" ]\ncommand = 'old'\n", "s = '''\n[not]\n'''\nd = 2026-11-26\n[mcp_servers]\n", "[[list]]\na = 1\n[[list]]\na = 2",
	},
}

func placed(t *testing.T, text string) (f file) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "settings")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o640)) //nolint:gosec // the mode is to stay
	return require.Must(read(path))(t)
}

// The entry comes, all else stays, and what was made is undone to the byte: at once, when others have written
// elsewhere in the file, and after a second change.
func TestAddAndRemove(t *testing.T) {
	t.Parallel()
	for name, all := range files {
		c := Find(name)
		for _, text := range all {
			for _, e := range []Entry{local, remote} {
				f := placed(t, text)
				change := require.Must(c.add(f.path, e, nil))(t)
				require.NoError(t, change.Do("tht_abc-1"))
				after := require.Must(read(f.path))(t)
				if after.mode != 0o640 || strings.HasPrefix(text, bom) != strings.HasPrefix(after.text, bom) {
					t.Errorf("%s: %q: mode %v, %q", name, text, after.mode, after.text)
				}
				if lineEnd(text) == "\r\n" && strings.Count(after.text, "\n") != strings.Count(after.text, "\r\n") {
					t.Errorf("%s: %q: lines end in two ways: %q", name, text, after.text)
				}
				if _, err := c.syntax.parse(after.text); err != nil {
					t.Fatalf("%s: %q became %q: %v", name, text, after.text, err)
				}
				if again := require.Must(c.add(f.path, e, nil))(t); !again.Nothing() || again.Entry == nil {
					t.Errorf("%s: %q: a second time changes %q", name, text, again.Diff())
				}
				if shown := strings.Join(append(change.Diff(), change.Made.New), "\n"); strings.Contains(shown, "abc-1") || strings.Contains(shown, "hunter2") {
					t.Errorf("%s: %q: it shows %s", name, text, shown)
				}
				second := local
				second.Args = []string{"serve"}
				next := require.Must(c.add(f.path, second, &change.Made))(t)
				require.NoError(t, next.Do(""))
				gone := require.Must(c.Remove(&next.Made))(t)
				if err := gone.Do(""); err != nil || gone.After != text {
					t.Errorf("%s: %q became %q, then %q: %v", name, text, after.text, gone.After, err)
				}
			}
		}
	}
}

// What others write in the meantime stays.
func TestRemoveAfterOthers(t *testing.T) {
	t.Parallel()
	for _, one := range []struct{ client, before, was, becomes, want string }{
		{"claude", "{\n  \"a\": 1\n}", `"a": 1`, `"a": [1, 2]`, "{\n  \"a\": [1, 2]\n}"},
		{"claude", "{}", `"toolhost": {`, `"toolhost": {"timeout": 5,`, "{\n  \"mcpServers\": {\n  }\n}"}, // it is another entry by now
		{"claude", "{}", `"mcpServers": {`, `"mcpServers": {"mine": {},`, "{\n  \"mcpServers\": {\"mine\": {}\n  }\n}"},
		{"claude", "{\n  \"mcpServers\": {}\n}", "}\n}", "},\n  \"z\": 1\n}", "{\n  \"mcpServers\": {},\n  \"z\": 1\n}"},
		{"codex", "a = 1\n", "a = 1\n", "a = 2\n[b]\n", "a = 2\n[b]\n"},
		{"codex", "a = 1\n", "\"stdio\"", "\"stdio\", \"--yes\"", "a = 1\n"},
	} {
		c, f := Find(one.client), placed(t, one.before)
		done := require.Must(c.add(f.path, Entry{Command: "/t", Args: []string{"serve", "--mcp", "stdio"}}, nil))(t)
		require.NoError(t, done.Do(""))
		now := require.Must(os.ReadFile(f.path))(t)
		if !strings.Contains(string(now), one.was) {
			t.Fatalf("%q is not in %q", one.was, now)
		}
		require.NoError(t, os.WriteFile(f.path, []byte(strings.Replace(string(now), one.was, one.becomes, 1)), 0o600))
		change := require.Must(c.Remove(&done.Made))(t)
		assert.Equalf(t, change.After, one.want, "%s: %q with %q", one.client, one.before, one.becomes)
	}
}

// A file that is not what the client writes, or may not be replaced, is left alone, and no value of it is told.
func TestRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\n \"a\": hunter2\n}": "it is not JSON, from line 2", "[\"hunter2\"]": "not a JSON object", "{\"mcpServers\": [\"hunter2\"]}": "mcpServers is not an object",
		"{\"mcpServers\": null}": "mcpServers is not an object", "\xff\xfe{": "not UTF-8",
	} {
		if _, err := Find("claude").add(placed(t, text).path, local, nil); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"a = hunter2": "it is not TOML, from line 1", "mcp_servers = {toolhost = {command = 'hunter2'}}": "more than the entry",
		"mcp_servers.toolhost.command = 'x'": "more than the entry", "s = '''\n[mcp_servers.toolhost]\n'''": "more than the entry",
	} {
		if _, err := Find("codex").add(placed(t, text).path, local, nil); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", text, err)
		}
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("ro"), nil, 0o400))
	require.NoError(t, os.WriteFile(at("a"), nil, 0o600))
	require.NoError(t, os.Link(at("a"), at("b")))
	require.NoError(t, os.Symlink("nowhere", at("dangling")))
	for path, want := range map[string]string{"ro": "is read-only", "b": "has 2 names", "dangling": "leads nowhere", ".": "a directory", "a/b": "not a directory"} {
		if _, err := read(at(path)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A link stays, and leads to the file that is written. Another writer in between is noticed.
func TestWrite(t *testing.T) {
	t.Parallel()
	f := placed(t, "{}")
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(f.path, link))
	c := Find("claude")
	change, late := require.Must(c.add(link, local, nil))(t), require.Must(c.add(link, remote, nil))(t)
	require.NoError(t, change.Do(""))
	if info := require.Must(os.Lstat(link))(t); info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is replaced")
	}
	if now := require.Must(read(f.path))(t); now.text != change.After {
		t.Errorf("%q", now.text)
	}
	assert.ErrorContains(t, late.Do("x"), "another program has changed it")
	absent := filepath.Join(t.TempDir(), "new", "file")
	change, late = require.Must(c.add(absent, local, nil))(t), require.Must(c.add(absent, remote, nil))(t)
	require.NoError(t, change.Do(""))
	assert.ErrorContains(t, late.Do("x"), "another program has changed it")
	if info := require.Must(os.Stat(absent))(t); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	require.NoError(t, require.Must(c.Remove(&change.Made))(t).Do(""))
	if _, err := os.Stat(absent); !os.IsNotExist(err) {
		t.Errorf("the file is left: %v", err)
	}
}

// What a client's file says of the server is what --check reaches.
func TestShapes(t *testing.T) {
	t.Parallel()
	for _, c := range Clients {
		if !c.Edited() {
			continue
		}
		for _, e := range []Entry{local, remote} {
			change := require.Must(c.add(placed(t, "").path, e, nil))(t)
			tree := require.Must(c.syntax.parse(change.After))(t)
			got := c.read(find(tree, c.path(tree)))
			if got.Command != e.Command || strings.Join(got.Args, " ") != strings.Join(e.Args, " ") || got.URL != e.URL || got.Headers["Authorization"] != e.Headers["Authorization"] {
				t.Errorf("%s: %+v", c.Name, got)
			}
		}
	}
	for name, want := range map[string]string{
		"gemini": `"httpUrl": "http`, "vscode": `"type": "http"`, "windsurf": `"serverUrl": "http`, "cline": `"type": "streamableHttp"`,
		"codex": `http_headers = { "Authorization" = "Bearer`, "zed": `"context_servers"`, "goose": "extensions:\n  toolhost: {\"type\": \"streamable_http\", \"uri\": \"http",
	} {
		assert.Containsf(t, Find(name).Snippet(remote), want, "%s", name)
	}
}
