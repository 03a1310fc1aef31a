package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestNoModule(t *testing.T) {
	t.Parallel()
	b := fresh(t, map[string]string{"a/a.go": "package a\n\nconst V = 1\n"})
	for _, in := range []describeIn{{Symbol: "V"}, {Symbol: "V", Package: "./a"}, {Symbol: "example.com/x.V"}, {Symbol: "T.M"}} {
		assert.Containsf(t, b.failing(t, "describe_symbol", in), "the workspace has no go.mod", "%+v", in)
	}
	assert.Equalf(t, b.symbolOf(t, "fmt.Println", "").Package, "fmt", "without a go.mod fmt.Println is in")
	assert.Equalf(t, b.listingOf(t, "utf8", false).Package, "unicode/utf8", "without a go.mod utf8")
	// A module that is made later is seen.
	write(t, b.root, map[string]string{"go.mod": "module example.com/m\n"})
	assert.Equalf(t, b.symbolOf(t, "V", "").Value, "1", "with a go.mod V")
}

// A module below a root that is in none is the workspace; of several, the one that a call names.
func TestModulesBelowTheRoot(t *testing.T) {
	t.Parallel()
	b := fresh(t, map[string]string{
		"app.py": "", "svc/go.mod": "module example.com/svc\n", "svc/a/a.go": "package a\n\nconst V = 1\n",
		"svc/main.go": "package main\n\nimport \"example.com/svc/a\"\n\nfunc main() { println(a.V) }\n",
	})
	for _, in := range []describeIn{{Symbol: "V"}, {Symbol: "V", Package: "./svc/a"}, {Symbol: "a.V"}, {Symbol: "V", Package: "example.com/svc/a"}} {
		if got := decode[description](t, b, "describe_symbol", in); got.Value != "1" || got.Position != "svc/a/a.go:3:7" {
			t.Errorf("%+v: %+v", in, got)
		}
	}
	if got := decode[references](t, b, "who_references", referencesIn{Variable: "V"}); got.Total != 1 {
		t.Errorf("V is used %d times", got.Total)
	}
	if got := decode[packageList](t, b, "list_packages", packagesIn{}); len(got.Packages) != 2 || got.Packages[1].Dir != "svc/a" {
		t.Errorf("%+v", got)
	}
	write(t, b.root, map[string]string{"tools/go.mod": "module example.com/tools\n", "tools/b.go": "package tools\n\nconst V = 2\n"})
	if got := b.failing(t, "describe_symbol", describeIn{Symbol: "V"}); !strings.Contains(got, "in no module; name a directory of one below it, as ./DIR or ./DIR/...: svc, tools") {
		t.Error(got)
	}
	for pkg, want := range map[string]string{"./tools": "2", "./svc/a": "1", "example.com/tools": "2"} {
		assert.Equalf(t, b.symbolOf(t, "V", pkg).Value, want, "V of %s", pkg)
	}
	if got := decode[packageList](t, b, "list_packages", packagesIn{Scope: "./tools/..."}); len(got.Packages) != 1 {
		t.Errorf("%+v", got)
	}
	assert.Equalf(t, b.symbolOf(t, "fmt.Println", "").Package, "fmt", "fmt.Println is in")
	// A root that is a module has another one below it, too, which go.work does not name.
	write(t, b.root, map[string]string{"go.mod": "module example.com/m\n", "m.go": "package m\n", "go.work": "go 1.26\n\nuse .\n"})
	assert.Equalf(t, b.symbolOf(t, "V", "./tools").Value, "2", "V of ./tools")
}

func TestBadModule(t *testing.T) {
	t.Parallel()
	b := fresh(t, map[string]string{"go.mod": "modul example.com/m\n", "a.go": "package a\n"})
	assert.Contains(t, b.failing(t, "list_package_symbols", listIn{Package: "fmt"}), "go.mod:1: unknown directive: modul")
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
	assert.Equalf(t, b.symbolOf(t, "one.V", "").Value, "1", "one.V")
	if got := b.symbolOf(t, "Two", ""); got.Position != "two/deep/two.go:5:7" {
		t.Errorf("Two is %+v", got)
	}
	b.edit(t, "two/deep/two.go", "package two\n\nconst V = 9\n", time.Second)
	assert.Equalf(t, b.symbolOf(t, "one.V", "").Value, "9", "after an edit one.V")
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
	assert.Equalf(t, b.symbolOf(t, "V", "a").Position, "a/a.go:3:7", "below a root that is a link V is at")
	assert.Equalf(t, b.symbolOf(t, "V", "./in").Position, "a/a.go:3:7", "through a link V is at")
	if _, err := b.call(t, t.Context(), "list_package_symbols", listIn{Package: "./out"}); tool.CodeOf(err) != tool.CodePermissionDenied {
		t.Errorf("a link that leads out of the root: %v", err)
	}
}
