package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// plugin is the plugin's tools in a directory of their own.
type plugin struct {
	*tool.Set
	root string
}

func start(t *testing.T) plugin {
	t.Helper()
	b, root := newBuffers(), t.TempDir()
	if err := b.current.Set(root); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if ws, err := b.current.Get(); err == nil {
			_ = ws.Close()
		}
	})
	set, err := tool.NewSet(b.tools()...)
	if err != nil {
		t.Fatal(err)
	}
	return plugin{set, root}
}

type args map[string]any

func newCall(t *testing.T, session, name string, arguments args) tool.Call {
	t.Helper()
	b, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	return tool.Call{Name: name, Arguments: b, Session: session}
}

// says runs a tool for a session and checks its text.
func (p plugin) says(t *testing.T, session, name string, arguments args, want string) {
	t.Helper()
	r, err := p.Execute(t.Context(), newCall(t, session, name, arguments))
	if err != nil || r.IsError || r.Text() != want {
		t.Errorf("%s %v = %q, %v; want %q", name, arguments, r.Text(), err, want)
	}
}

// fails checks that a call is the tool's own failure, with a text.
func (p plugin) fails(t *testing.T, session, name string, arguments args, text string) {
	t.Helper()
	r, err := p.Execute(t.Context(), newCall(t, session, name, arguments))
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

// has checks what is in a file.
func (p plugin) has(t *testing.T, name, want string) {
	t.Helper()
	if b, err := os.ReadFile(filepath.Join(p.root, name)); string(b) != want || err != nil {
		t.Errorf("%s has %q, %v; want %q", name, b, err, want)
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
		categories string
		arguments  string
		required   string
		typed      bool
	}{
		{"propose_file_edit", tool.Dangerous, tool.FSWrite, "diff editing", "description modified original path", "path original modified description", true},
		{"read_buffer", tool.Safe, tool.FSRead, "buffer", "buffer end start", "", false},
		{"read_file", tool.Cautious, tool.FSRead, "buffer filesystem", "path", "path", false},
		{"search_in_buffer", tool.Safe, tool.FSRead, "buffer", "all_matches buffer pattern regex", "pattern", true},
		{"write_file", tool.Dangerous, tool.FSWrite, "buffer filesystem destructive", "content path", "path content", true},
	}
	if len(defs) != len(want) {
		t.Fatalf("%d tools", len(defs))
	}
	types := map[string]string{"start": "integer", "end": "integer", "regex": "boolean", "all_matches": "boolean"}
	for i, d := range defs {
		w := want[i]
		var s struct {
			Required             []string
			AdditionalProperties *bool
			Properties           map[string]struct {
				Description string
				Type        any
			}
		}
		if err := json.Unmarshal(d.InputSchema, &s); err != nil {
			t.Fatal(err)
		}
		var arguments []string
		for name, p := range s.Properties {
			arguments = append(arguments, name)
			wanted := types[name]
			if wanted == "" {
				wanted = "string"
			}
			if p.Description == "" || p.Type != any(wanted) {
				t.Errorf("%s: %s = %+v", d.Name, name, p)
			}
		}
		slices.Sort(arguments)
		if d.Name != w.name || d.Safety != w.safety || d.Permission != w.permission || strings.Join(d.Categories, " ") != w.categories ||
			strings.Join(arguments, " ") != w.arguments || strings.Join(s.Required, " ") != w.required || (d.OutputSchema != nil) != w.typed {
			t.Errorf("definition = %+v, arguments %q, required %q, want %+v", d, arguments, s.Required, w)
		}
		if s.AdditionalProperties == nil || *s.AdditionalProperties {
			t.Errorf("%s takes arguments that it does not know", d.Name)
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
	if err := errors.Join(os.Symlink(outside, filepath.Join(p.root, "out")), os.Symlink(filepath.Dir(outside), filepath.Join(p.root, "parent"))); err != nil {
		t.Skipf("this system makes no symbolic links here: %v", err)
	}
	for _, path := range []string{"../x", "..", "/etc/passwd", "out", "parent/secret"} {
		for name, arguments := range map[string]args{
			"read_file": {"path": path}, "read_buffer": {"buffer": path}, "search_in_buffer": {"buffer": path, "pattern": "x"},
			"write_file": {"path": path, "content": "changed"}, "propose_file_edit": {"path": path, "original": "outside", "modified": "changed", "description": ""},
		} {
			for _, run := range []tool.Handler{p.Execute, p.Preview} {
				r, err := run(t.Context(), newCall(t, "s", name, arguments))
				var e *tool.Error
				if errors.Is(err, tool.ErrNoPreview) {
					continue
				}
				if !errors.As(err, &e) || e.Code != tool.CodePermissionDenied || e.Message != "tool "+name+" execution failed: path escapes the workspace: "+path {
					t.Errorf("%s %s = %v, %v", name, path, r, err)
				}
			}
		}
	}
	if b, err := os.ReadFile(outside); string(b) != "outside" {
		t.Errorf("outside = %q, %v", b, err)
	}
}
