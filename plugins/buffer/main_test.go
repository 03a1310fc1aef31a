package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/internal/workspacetest"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// plugin is the plugin's tools in a directory of their own.
type plugin struct{ workspacetest.Tools }

type args = workspacetest.Args

func start(t *testing.T) plugin {
	t.Helper()
	b, root := newBuffers(), t.TempDir()
	require.NoError(t, b.current.Set(root))
	t.Cleanup(func() {
		if ws, err := b.current.Get(); err == nil {
			_ = ws.Close()
		}
	})
	return plugin{workspacetest.New(t, root, b.tools()...)}
}

func TestDefinitions(t *testing.T) {
	t.Parallel()
	defs := require.Must(start(t).List(t.Context()))(t)
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
		require.NoError(t, json.Unmarshal(d.InputSchema, &s))
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
	workspacetest.WriteFile(t, outside, "outside")
	p.Symlink(t, outside, "out")
	p.Symlink(t, filepath.Dir(outside), "parent")
	for _, path := range []string{"../x", "..", "/etc/passwd", "out", "parent/secret"} {
		for name, arguments := range map[string]args{
			"read_file": {"path": path}, "read_buffer": {"buffer": path}, "search_in_buffer": {"buffer": path, "pattern": "x"},
			"write_file": {"path": path, "content": "changed"}, "propose_file_edit": {"path": path, "original": "outside", "modified": "changed", "description": ""},
		} {
			for _, run := range []tool.Handler{p.Execute, p.Preview} {
				if _, err := run(t.Context(), p.NewCall(t, name, arguments)); !errors.Is(err, tool.ErrNoPreview) {
					p.WantEscape(t, run, name, path, arguments)
				}
			}
		}
	}
	if b, err := os.ReadFile(outside); string(b) != "outside" {
		t.Errorf("outside = %q, %v", b, err)
	}
}
