package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/internal/workspace"
	"github.com/toolhost/toolhost/plugins/internal/workspacetest"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// plugin is the plugin's tools in a directory of their own.
type plugin struct{ workspacetest.Tools }

type args = workspacetest.Args

func start(t *testing.T) plugin {
	t.Helper()
	root := t.TempDir()
	current := &workspace.Current{}
	require.NoError(t, current.Set(root))
	t.Cleanup(func() {
		if ws, err := current.Get(); err == nil {
			_ = ws.Close()
		}
	})
	return plugin{workspacetest.New(t, root, tools(current)...)}
}

func TestDefinitions(t *testing.T) {
	t.Parallel()
	defs := require.Must(start(t).List(t.Context()))(t)
	want := []struct {
		name       string
		safety     tool.Safety
		permission tool.Capability
		categories []string
		retries    int
		required   string
	}{
		{"fs.delete", tool.Dangerous, tool.FSWrite, []string{"filesystem", "destructive"}, 0, `["path"]`},
		{"fs.edit", tool.Dangerous, tool.FSWrite, []string{"filesystem", "destructive"}, 0, `["path"]`},
		{"fs.list", tool.Safe, tool.FSRead, []string{"filesystem"}, 2, "[]"},
		{"fs.mkdir", tool.Cautious, tool.FSWrite, []string{"filesystem"}, 2, `["path"]`},
		{"fs.move", tool.Dangerous, tool.FSWrite, []string{"filesystem", "destructive"}, 0, `["path","to"]`},
		{"fs.read", tool.Safe, tool.FSRead, []string{"filesystem"}, 2, `["path"]`},
		{"fs.search", tool.Safe, tool.FSRead, []string{"filesystem"}, 2, `["pattern"]`},
		{"fs.stat", tool.Safe, tool.FSRead, []string{"filesystem"}, 2, `["path"]`},
		{"fs.write", tool.Dangerous, tool.FSWrite, []string{"filesystem", "destructive"}, 0, `["path","content"]`},
	}
	if len(defs) != len(want) {
		t.Fatalf("%d tools", len(defs))
	}
	for i, d := range defs {
		w := want[i]
		if d.Name != w.name || d.Safety != w.safety || d.Permission != w.permission ||
			!slices.Equal(d.Categories, w.categories) || d.MaxRetries != w.retries || d.Idempotent != (w.retries > 0) {
			t.Errorf("definition = %+v, want %+v", d, w)
		}
		wantSchema(t, d, w.required)
		if (d.OutputSchema != nil) != (d.Name != "fs.read") {
			t.Errorf("%s has the output schema %s", d.Name, d.OutputSchema)
		}
	}
}

// wantSchema checks that a schema is closed and describes every argument.
func wantSchema(t *testing.T, d tool.Definition, required string) {
	t.Helper()
	var s struct {
		Required             []string
		AdditionalProperties *bool
		Properties           map[string]struct{ Description, Pattern string }
	}
	require.NoError(t, json.Unmarshal(d.InputSchema, &s))
	if s.Required == nil {
		s.Required = []string{}
	}
	if got, _ := json.Marshal(s.Required); string(got) != required {
		t.Errorf("%s requires %s, want %s", d.Name, got, required)
	}
	if s.AdditionalProperties == nil || *s.AdditionalProperties {
		t.Errorf("%s takes arguments that it does not know", d.Name)
	}
	for name, p := range s.Properties {
		if p.Description == "" || (name == "path" || name == "to") != (p.Pattern != "") {
			t.Errorf("%s: %s = %+v", d.Name, name, p)
		}
	}
}

func TestEscapesAreDenied(t *testing.T) {
	t.Parallel()
	p := start(t)
	outside := filepath.Join(t.TempDir(), "secret")
	workspacetest.WriteFile(t, outside, "outside")
	p.Symlink(t, outside, "out")
	p.Symlink(t, filepath.Dir(outside), "parent")
	p.Symlink(t, os.DevNull, "null")
	for _, path := range []string{"../x", "..", "/etc/passwd", "out", "parent/secret", "null"} {
		for name, arguments := range map[string]args{
			"fs.read": {}, "fs.list": {}, "fs.stat": {}, "fs.write": {"content": "changed"},
			"fs.search": {"pattern": "x"}, "fs.edit": {"original": "outside", "modified": "changed"},
			"fs.mkdir": {}, "fs.move": {"to": "new"}, "fs.delete": {},
		} {
			if (path == "out" || path == "null") && slices.Contains([]string{"fs.stat", "fs.move", "fs.delete", "fs.mkdir"}, name) {
				continue // it is about the link
			}
			arguments["path"] = path
			p.WantEscape(t, p.Execute, name, path, arguments)
		}
	}
	p.WriteFile(t, "mine", "")
	for _, to := range []string{"../x", "/tmp/x", "parent/new"} {
		r, err := p.Call(t, "fs.move", args{"path": "mine", "to": to})
		if tool.CodeOf(err) != tool.CodePermissionDenied {
			t.Errorf("to %s: %v, %v", to, r.Text(), err)
		}
	}
	if b, err := os.ReadFile(outside); string(b) != "outside" {
		t.Errorf("outside = %q, %v", b, err)
	}
}

func TestWithoutRootTheWorkingDirectoryCounts(t *testing.T) {
	// Not parallel: it changes the working directory.
	p := plugin{workspacetest.New(t, t.TempDir(), tools(&workspace.Current{})...)}
	t.Chdir(p.Root)
	p.WriteFile(t, "file", "here")
	assert.Equalf(t, p.Must(t, "fs.read", args{"path": "file"}).Text(), "here", "file")
}
