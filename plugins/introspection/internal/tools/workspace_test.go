package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestNoModule(t *testing.T) {
	t.Parallel()
	b := fresh(t, map[string]string{"a/a.go": "package a\n\nconst V = 1\n"})
	for _, in := range []describeIn{{Symbol: "V"}, {Symbol: "V", Package: "./a"}, {Symbol: "example.com/x.V"}, {Symbol: "T.M"}} {
		if got := b.failing(t, "describe_symbol", in); !strings.Contains(got, "the workspace has no go.mod") {
			t.Errorf("%+v: %s", in, got)
		}
	}
	if got := b.symbolOf(t, "fmt.Println", "").Package; got != "fmt" {
		t.Errorf("without a go.mod fmt.Println is in %s", got)
	}
	if got := b.listingOf(t, "utf8", false).Package; got != "unicode/utf8" {
		t.Errorf("without a go.mod utf8 is %s", got)
	}
	// A module that is made later is seen.
	write(t, b.root, map[string]string{"go.mod": "module example.com/m\n"})
	if got := b.symbolOf(t, "V", "").Value; got != "1" {
		t.Errorf("with a go.mod V is %s", got)
	}
}

func TestBadModule(t *testing.T) {
	t.Parallel()
	b := fresh(t, map[string]string{"go.mod": "modul example.com/m\n", "a.go": "package a\n"})
	if got := b.failing(t, "list_package_symbols", listIn{Package: "fmt"}); !strings.Contains(got, "go.mod:1: unknown directive: modul") {
		t.Error(got)
	}
}

func TestWithoutGo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	b := fresh(t, map[string]string{"go.mod": "module example.com/m\n", "a.go": "package a\n"})
	for name, args := range map[string]any{
		"list_package_symbols": listIn{Package: "fmt"}, "apropos_search": aproposIn{Pattern: "x"},
		"function_arglist": arglistIn{Function: "fmt.Print"}, "class_slots": slotsIn{Class: "http.Client"},
		"class_hierarchy": hierarchyIn{Class: "error"}, "macroexpand_form": macroexpandIn{Form: "1"},
	} {
		got := b.failing(t, name, args)
		if got != "the Go toolchain is needed: `go` was not found on the plugin's PATH; install Go or name PATH in the plugin's environment" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"file": ""})
	for _, root := range []string{filepath.Join(dir, "file"), filepath.Join(dir, "nothing")} {
		if err := new(check.Workspace).Open(root); err == nil {
			t.Errorf("%s was taken for a workspace", root)
		}
	}
	set := require.Must(tool.NewSet(All(new(check.Workspace))...))(t)
	res, err := set.Execute(t.Context(), tool.Call{Name: "list_package_symbols", Arguments: []byte(`{"package":"fmt"}`)})
	if err != nil || !res.IsError {
		t.Errorf("a plugin that was not configured answered %s, %v", res.Text(), err)
	}
}

// The modules of a go.work file are the workspace, wherever below it they are.
func TestGoWork(t *testing.T) {
	t.Parallel()
	b := fresh(t, map[string]string{
		"go.work":         "go 1.26\n\nuse (\n\t./one\n\t./two/deep\n)\n",
		"one/go.mod":      "module example.com/one\n\ngo 1.26\n",
		"one/one.go":      "package one\n\nimport \"example.com/two\"\n\nconst V = two.V\n",
		"two/deep/go.mod": "module example.com/two\n\ngo 1.26\n",
		"two/deep/two.go": "package two\n\nconst V = 1\n\nconst Two = 2\n",
	})
	if got := b.symbolOf(t, "one.V", "").Value; got != "1" {
		t.Errorf("one.V is %s", got)
	}
	if got := b.symbolOf(t, "Two", ""); got.Position != "two/deep/two.go:5:7" {
		t.Errorf("Two is %+v", got)
	}
	b.edit(t, "two/deep/two.go", "package two\n\nconst V = 9\n", time.Second)
	if got := b.symbolOf(t, "one.V", "").Value; got != "9" {
		t.Errorf("after an edit one.V is %s", got)
	}
}

// A workspace may be a part of a module.
func TestBelowModule(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n", "a/a.go": "package a\n\nimport \"example.com/m/b\"\n\nconst V = b.V\n",
		"b/b.go": "package b\n\nconst V = 1\n",
	})
	b := open(t, filepath.Join(dir, "a"))
	if got := b.symbolOf(t, "V", ""); got.Position != "a.go:5:7" || got.Value != "1" {
		t.Errorf("V is %+v", got)
	}
	if got := b.symbolOf(t, "b.V", ""); got.Position != "example.com/m/b/b.go:3" {
		t.Errorf("b.V is %+v", got)
	}
	if _, err := b.call(t, t.Context(), "list_package_symbols", listIn{Package: "../b"}); tool.CodeOf(err) != tool.CodePermissionDenied {
		t.Errorf("a directory above the root: %v", err)
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	where, other := t.TempDir(), t.TempDir()
	write(t, where, map[string]string{"go.mod": "module example.com/m\n\ngo 1.26\n", "a/a.go": "package a\n\nconst V = 1\n"})
	write(t, other, map[string]string{"x.go": "package x\n\nconst X = 1\n"})
	for link, to := range map[string]string{filepath.Join(other, "root"): where, filepath.Join(where, "out"): other, filepath.Join(where, "in"): filepath.Join(where, "a")} {
		if err := os.Symlink(to, link); err != nil {
			t.Skip("no links here:", err)
		}
	}
	b := open(t, filepath.Join(other, "root"))
	if got := b.symbolOf(t, "V", "a").Position; got != "a/a.go:3:7" {
		t.Errorf("below a root that is a link V is at %s", got)
	}
	if got := b.symbolOf(t, "V", "./in").Position; got != "a/a.go:3:7" {
		t.Errorf("through a link V is at %s", got)
	}
	if _, err := b.call(t, t.Context(), "list_package_symbols", listIn{Package: "./out"}); tool.CodeOf(err) != tool.CodePermissionDenied {
		t.Errorf("a link that leads out of the root: %v", err)
	}
}
