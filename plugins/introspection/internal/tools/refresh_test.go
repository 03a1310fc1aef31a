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
)

// edit writes a file again, with a time of change that no clock gave: a test that
// writes twice within the file system's resolution would see no change.
func (b *bench) edit(t *testing.T, name, content string, age time.Duration) {
	t.Helper()
	write(t, b.root, map[string]string{name: content})
	when := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).Add(age)
	require.NoError(t, os.Chtimes(filepath.Join(b.root, filepath.FromSlash(name)), when, when))
}

// loaded returns a package as it is loaded now.
func (b *bench) loaded(t *testing.T, path string) *check.Package {
	t.Helper()
	s := b.snapshot(t)
	p := require.Must(s.Package(t.Context(), s.Graph.Nodes[path]))(t)
	return p
}

func (b *bench) snapshot(t *testing.T) *check.Snapshot {
	t.Helper()
	s := require.Must(b.workspace.Snapshot(t.Context(), ""))(t)
	return s
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	b := fresh(t, map[string]string{
		"go.mod":     "module example.com/m\n\ngo 1.26\n",
		"a/a.go":     "package a\n\nimport \"example.com/m/b\"\n\ntype T struct{ b.Base }\n",
		"b/b.go":     "package b\n\ntype Base struct{}\n",
		"c/c.go":     "package c\n\nconst V = 1\n",
		"c/other.go": "package c\n",
	})
	const a, c = "example.com/m/a", "example.com/m/c"

	if got := b.symbolOf(t, "c.V", "").Value; got != "1" {
		t.Fatalf("V is %s", got)
	}
	if got := b.symbolOf(t, "a.T", "").Methods; got != nil {
		t.Fatalf("the methods of T are %v", got)
	}
	before, graph := b.loaded(t, c), b.snapshot(t).Graph

	// Nothing changed: nothing is loaded again.
	b.symbolOf(t, "c.V", "")
	if b.loaded(t, c) != before || b.snapshot(t).Graph != graph {
		t.Error("an unchanged package was loaded twice")
	}

	// Same length, another time.
	b.edit(t, "c/c.go", "package c\n\nconst V = 2\n", time.Second)
	assert.Equalf(t, b.symbolOf(t, "c.V", "").Value, "2", "after an edit V")
	assert.Equalf(t, b.snapshot(t).Graph, graph, "an edit below the imports made the import graph load again")

	// A package below changes the one above, and only it.
	before, above := b.loaded(t, c), b.loaded(t, a)
	b.edit(t, "b/b.go", "package b\n\ntype Base struct{}\n\nfunc (Base) M() {}\n", time.Second)
	if got := b.symbolOf(t, "a.T", "").Methods; len(got) != 1 || !strings.HasSuffix(got[0], "// promoted from b.Base") {
		t.Errorf("after an edit of the package below, the methods of T are %v", got)
	}
	if b.loaded(t, a) == above || b.loaded(t, c) != before {
		t.Error("the wrong packages were loaded again")
	}

	// A new file, a new package, a package gone.
	b.edit(t, "c/new.go", "package c\n\nimport \"fmt\"\n\nvar _ = fmt.Sprint\n\nconst New = 3\n", time.Second)
	b.edit(t, "d/d.go", "package d\n\nconst D = 4\n", time.Second)
	if got := b.symbolOf(t, "New", ""); got.Position != "c/new.go:7:7" {
		t.Errorf("New is %+v", got)
	}
	if got := b.symbolOf(t, "D", "d"); got.Value != "4" {
		t.Errorf("D is %+v", got)
	}
	require.NoError(t, os.RemoveAll(filepath.Join(b.root, "d")))
	b.failing(t, "describe_symbol", describeIn{Symbol: "D"})

	// Broken, and whole again.
	b.edit(t, "c/other.go", "package c\n\nvar X Nothing\n", time.Second)
	if got := b.symbolOf(t, "c.V", "").Errors; len(got) != 1 {
		t.Errorf("the errors are %v", got)
	}
	b.edit(t, "c/other.go", "package c\n", 2*time.Second)
	if got := b.symbolOf(t, "c.V", "").Errors; got != nil {
		t.Errorf("after a repair the errors are %v", got)
	}
}

func TestRefreshModule(t *testing.T) {
	t.Parallel()
	b := fresh(t, map[string]string{
		"go.mod":          "module example.com/m\n\ngo 1.26\n\nrequire example.com/lib v0.0.0\n\nreplace example.com/lib => ./lib1\n",
		"a.go":            "package m\n\nimport \"example.com/lib\"\n\nconst V = lib.V\n",
		"lib1/go.mod":     "module example.com/lib\n",
		"lib1/lib.go":     "package lib\n\nconst V = 1\n",
		"lib1/sub/s.go":   "package sub\n\nconst S = 1\n",
		"lib2/go.mod":     "module example.com/lib\n",
		"lib2/lib.go":     "package lib\n\nconst V = 2\n",
		"lib2/sub/s.go":   "package sub\n\nconst S = 2\n",
		"lib1/.hidden.go": "not Go",
	})
	assert.Equalf(t, b.symbolOf(t, "V", "").Value, "1", "V")
	if got := b.symbolOf(t, "lib.V", ""); got.Value != "1" || got.Package != "example.com/lib" {
		t.Errorf("lib.V is %+v", got)
	}
	// Provided by a required module, not imported by any package.
	if got := b.symbolOf(t, "example.com/lib/sub.S", ""); got.Value != "1" {
		t.Errorf("sub.S is %+v", got)
	}
	b.edit(t, "lib1/lib.go", "package lib\n\nconst V = 7\n", time.Second)
	assert.Equalf(t, b.symbolOf(t, "V", "").Value, "7", "after an edit of a replaced module V")
	b.edit(t, "go.mod", "module example.com/m\n\ngo 1.26\n\nrequire example.com/lib v0.0.0\n\nreplace example.com/lib => ./lib2\n", time.Second)
	assert.Equalf(t, b.symbolOf(t, "V", "").Value, "2", "after an edit of go.mod V")
	assert.Equalf(t, b.symbolOf(t, "example.com/lib/sub.S", "").Value, "2", "after an edit of go.mod S")
}

func TestRefreshStray(t *testing.T) {
	t.Parallel()
	b := fresh(t, map[string]string{
		"go.mod":          "module example.com/m\n\ngo 1.26\n",
		"testdata/x/x.go": "package x\n\nconst X = 1\n",
	})
	for i, want := range []string{"1", "2"} {
		b.edit(t, "testdata/x/x.go", "package x\n\nconst X = "+want+"\n", time.Duration(i)*time.Second)
		assert.Equalf(t, b.symbolOf(t, "X", "./testdata/x/").Value, want, "X")
	}
}
