package tools

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
)

// tested is a module with tests next to packages and in them, and with what only tests
// have: a dependency, directories, and a module below the module.
var tested = map[string]string{
	"go.mod": "module example.com/tested\n\ngo 1.26\n\nrequire example.com/must v1.0.0\n\n" +
		"replace example.com/must => ./dependency/must\n",
	"tested.go": "package tested\n\n// Saver is satisfied by types of tests.\ntype Saver interface{ Save(Item) error }\n\n" +
		"// Item is saved.\ntype Item struct{ Key string }\n",
	"in_test.go": `package tested

import (
	"testing"

	"example.com/must"
)

// helper is shared by tests.
func helper(t *testing.T, key string) Item { t.Helper(); return Item{Key: key} }

type fake struct{ saved []Item }

func (f *fake) Save(i Item) error { f.saved = append(f.saved, i); return nil }

// Wide is an interface of the tests.
type Wide interface {
	Saver
	Reset()
}

// Upper is only for tests.
func (i Item) Upper() string { return i.Key }

func TestSave(t *testing.T) { must.NoError((&fake{}).Save(helper(t, "a"))) }
`,
	"out_test.go": `package tested_test

import (
	"testing"

	"example.com/tested"
)

// Remote is a Saver next to the package.
type Remote struct{ tested.Item }

func (Remote) Save(tested.Item) error { return nil }

func outside() string { return Remote{}.Upper() }

func TestOut(t *testing.T) { _ = outside() }
`,
	"alone/alone_test.go": "package alone\n\nfunc Alone() {}\n",
	"apart/apart_test.go": "package apart_test\n\nfunc Apart() {}\n",

	"dependency/must/go.mod":  "module example.com/must\n\ngo 1.26\n",
	"dependency/must/must.go": "// Package must fails.\npackage must\n\n// NoError wants no error.\nfunc NoError(err error) {}\n",
	"other/go.mod":            "module example.com/other\n\ngo 1.26\n",
	"other/deep/deep.go":      "package deep\n\nfunc Deep() {}\n",
}

// What test files declare is found like everything else.
func TestTestSymbols(t *testing.T) {
	t.Parallel()
	b := shared(t, tested)
	for _, c := range []struct{ symbol, pkg, position, in string }{
		{"helper", "", "in_test.go:10:6", "example.com/tested"},
		{"tested.helper", "", "in_test.go:10:6", "example.com/tested"},
		{"helper", ".", "in_test.go:10:6", "example.com/tested"},
		{"example.com/tested.fake.Save", "", "in_test.go:14:16", "example.com/tested"},
		{"Item.Upper", "", "in_test.go:23:15", "example.com/tested"},
		{"Remote", "", "out_test.go:10:6", "example.com/tested_test"},
		{"tested.Remote", "", "out_test.go:10:6", "example.com/tested_test"},
		{"tested_test.Remote.Save", "", "out_test.go:12:15", "example.com/tested_test"},
		{"Remote.Upper", "", "in_test.go:23:15", "example.com/tested_test"},
		{"example.com/tested_test.outside", "", "out_test.go:14:6", "example.com/tested_test"},
		{"outside", "./", "out_test.go:14:6", "example.com/tested_test"},
		{"Alone", "", "alone/alone_test.go:3:6", "example.com/tested/alone"},
		{"Apart", "apart", "apart/apart_test.go:3:6", "example.com/tested/apart_test"},
		{"apart.Apart", "", "apart/apart_test.go:3:6", "example.com/tested/apart_test"},
		// What only tests import has a short name too.
		{"must.NoError", "", "dependency/must/must.go:5:6", "example.com/must"},
		{"NoError", "./dependency/must", "dependency/must/must.go:5:6", "example.com/must"},
		{"NoError", "must", "dependency/must/must.go:5:6", "example.com/must"},
	} {
		got := b.symbolOf(t, c.symbol, c.pkg)
		if got.Position != c.position || got.Package != c.in {
			t.Errorf("%s in %q is at %s of %s, want %s of %s", c.symbol, c.pkg, got.Position, got.Package, c.position, c.in)
		}
	}
	assert.Equalf(t, b.symbolOf(t, "helper", "").Doc, "helper is shared by tests.", "helper is documented as")
	args := decode[arglist](t, b, "function_arglist", arglistIn{Function: "helper"})
	if len(args.Parameters) != 2 || args.Parameters[0].Type != "*testing.T" {
		t.Errorf("helper takes %+v", args.Parameters)
	}
	fields := decode[slots](t, b, "class_slots", slotsIn{Class: "fake"})
	if len(fields.Fields) != 1 || fields.Fields[0].Type != "[]Item" {
		t.Errorf("fake has %+v", fields.Fields)
	}
	if got := decode[callers](t, b, "who_calls", callsIn{Function: "Item.Upper"}); got.Total != 1 || got.Calls[0].Function != "tested_test.outside" {
		t.Errorf("Upper is called by %+v", got)
	}
}

func TestOtherModule(t *testing.T) {
	t.Parallel()
	b := shared(t, tested)
	for _, pkg := range []string{"./other/deep", "other/deep"} {
		assert.Equal(t, b.symbolOf(t, "Deep", pkg).Position, "other/deep/deep.go:3:6")
	}
	assert.Contains(t, b.failing(t, "describe_symbol", describeIn{Symbol: "Deep"}), `there is no symbol "Deep"`)
}

// Types of tests are relatives, compared with what their tests see.
func TestTestHierarchy(t *testing.T) {
	t.Parallel()
	b := shared(t, tested)
	related := func(class string, with *bool) string {
		got := decode[hierarchy](t, b, "class_hierarchy", hierarchyIn{Class: class, tests: tests{with}})
		var out []string
		for _, list := range [][]relative{got.Satisfies, got.EmbeddedBy, got.ImplementedBy} {
			for _, r := range list {
				out = append(out, r.Name)
			}
			out = append(out, "|")
		}
		return strings.Join(out, " ")
	}
	no := false
	for _, c := range []struct {
		class string
		tests *bool
		want  string
	}{
		{"Saver", nil, "| Wide | Wide fake Remote |"},
		{"Saver", &no, "| | |"},
		{"fake", nil, "Saver | | |"},
		{"Item", nil, "| Remote | |"},
		{"Wide", nil, "Saver | | |"},
		{"Remote", nil, "Saver | | |"},
	} {
		assert.Equalf(t, related(c.class, c.tests), c.want, "%s", c.class)
	}
}
