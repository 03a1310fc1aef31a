package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/plugins/internal/workspace"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// plugin is the plugin's tools in a directory of their own.
type plugin struct {
	*tool.Set
	root string
}

func start(t *testing.T) plugin {
	t.Helper()
	root := t.TempDir()
	current := &workspace.Current{}
	if err := current.Set(root); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if ws, err := current.Get(); err == nil {
			_ = ws.Close()
		}
	})
	return plugin{newSet(t, current), root}
}

func newSet(t *testing.T, current *workspace.Current) *tool.Set {
	t.Helper()
	set, err := tool.NewSet(tools(current)...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

type args map[string]any

// call runs a tool as a host would.
func (p plugin) call(t *testing.T, name string, arguments args) (tool.Result, error) {
	t.Helper()
	b, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	return p.Execute(t.Context(), tool.Call{Name: name, Arguments: b})
}

// preview asks what a call would do.
func (p plugin) preview(t *testing.T, name string, arguments args) (tool.Result, error) {
	t.Helper()
	b, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	return p.Preview(t.Context(), tool.Call{Name: name, Arguments: b})
}

// must is call where nothing may go wrong.
func (p plugin) must(t *testing.T, name string, arguments args) tool.Result {
	t.Helper()
	r, err := p.call(t, name, arguments)
	if err != nil || r.IsError {
		t.Fatalf("%s: %v, %v", name, r.Text(), err)
	}
	return r
}

// wantFailure checks that a call is the tool's own failure, with a text.
func (p plugin) wantFailure(t *testing.T, name string, arguments args, text string) {
	t.Helper()
	r, err := p.call(t, name, arguments)
	if err != nil || !r.IsError || !strings.HasPrefix(r.Text(), "tool "+name+" execution failed: ") || !strings.Contains(r.Text(), text) {
		t.Errorf("%s %v = %q, %v; want a failure with %q", name, arguments, r.Text(), err, text)
	}
}

func (p plugin) put(t *testing.T, name, content string) {
	t.Helper()
	file := filepath.Join(p.root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func (p plugin) link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(p.root, name)); err != nil {
		t.Skipf("this system makes no symbolic links here: %v", err)
	}
}

func TestDefinitions(t *testing.T) {
	t.Parallel()
	defs, err := start(t).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		name       string
		safety     tool.Safety
		permission tool.Capability
		categories []string
		retries    int
		required   string
	}{
		{"fs.edit", tool.Dangerous, tool.FSWrite, []string{"filesystem", "destructive"}, 0, `["path","original","modified"]`},
		{"fs.list", tool.Safe, tool.FSRead, []string{"filesystem"}, 2, "[]"},
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
	if err := json.Unmarshal(d.InputSchema, &s); err != nil {
		t.Fatal(err)
	}
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
		if p.Description == "" || (name == "path") != (p.Pattern != "") {
			t.Errorf("%s: %s = %+v", d.Name, name, p)
		}
	}
}

func TestEscapesAreDenied(t *testing.T) {
	t.Parallel()
	p := start(t)
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("outside"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.link(t, outside, "out")
	p.link(t, filepath.Dir(outside), "parent")
	p.link(t, os.DevNull, "null")
	for _, path := range []string{"../x", "..", "/etc/passwd", "out", "parent/secret", "null"} {
		for name, arguments := range map[string]args{
			"fs.read": {}, "fs.list": {}, "fs.stat": {}, "fs.write": {"content": "changed"},
			"fs.search": {"pattern": "x"}, "fs.edit": {"original": "outside", "modified": "changed"},
		} {
			if name == "fs.stat" && (path == "out" || path == "null") {
				continue // it describes the link
			}
			arguments["path"] = path
			wantDenied(t, p.call, name, arguments)
		}
	}
	if b, err := os.ReadFile(outside); string(b) != "outside" {
		t.Errorf("outside = %q, %v", b, err)
	}
}

// wantDenied checks that a call or preview is refused as one that leads outside.
func wantDenied(t *testing.T, run func(*testing.T, string, args) (tool.Result, error), name string, arguments args) {
	t.Helper()
	r, err := run(t, name, arguments)
	var e *tool.Error
	if !errors.As(err, &e) || e.Code != tool.CodePermissionDenied || e.Hint == "" ||
		e.Message != "tool "+name+" execution failed: path escapes the workspace: "+arguments["path"].(string) {
		t.Errorf("%s %v = %v, %v", name, arguments, r, err)
	}
}

func TestWithoutRootTheWorkingDirectoryCounts(t *testing.T) {
	// Not parallel: it changes the working directory.
	p := plugin{newSet(t, &workspace.Current{}), t.TempDir()}
	t.Chdir(p.root)
	p.put(t, "file", "here")
	if got := p.must(t, "fs.read", args{"path": "file"}).Text(); got != "here" {
		t.Errorf("file = %q", got)
	}
}
