package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/plugins/execution/internal/form"
	"github.com/toolhost/toolhost/plugins/execution/internal/target"
)

// told checks that a form goes well and what its note says; - means that there is none.
func (p plugin) told(t *testing.T, text, note string) evaluation {
	t.Helper()
	out := p.must(t, text)
	if note == "-" && out.Note != "" || note != "-" && !strings.Contains(out.Note, note) {
		t.Errorf("%s: the note is %q, want %q", text, out.Note, note)
	}
	return out
}

// The package's own name means the package itself, imported or not.
func TestOwnPackageByName(t *testing.T) {
	links(t)
	t.Parallel()
	p := sharedShop(t)
	const note = "evaluated inside package example.com/shop: shop.X means X there"
	p.told(t, "shop.total(\n  shop.stock)", note)
	p.told(t, "import \"example.com/shop\"\nfunc sum() int { n, _ := shop.total(shop.stock); return n }", note)
	p.is(t, "sum()", "5", "int")
	p.told(t, "import s \"example.com/shop\"\ns.total(nil)", "s.X means X there")
	if out := p.eval(t, "1 + shop.total(nil)"); out.OK || out.Errors[0].Column != 10 {
		t.Errorf("a position after the name: %+v", out.Errors)
	}
}

func TestImportCycle(t *testing.T) {
	links(t)
	t.Parallel()
	p := fresh(t, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.25\n", "m.go": "package m\n\nvar V = 1\n",
		"a/a.go": "package a\n\nimport _ \"example.com/m/b\"\n", "b/b.go": "package b\n\nimport _ \"example.com/m\"\n",
	})
	out := p.eval(t, "import \"example.com/m/a\"\n1")
	want := form.Problem{Line: 1, Column: 8, Message: "import cycle: example.com/m/a imports example.com/m/b imports example.com/m, " +
		"where the form is evaluated; to use both, evaluate it elsewhere: package: \"scratch\""}
	if len(out.Errors) != 1 || out.Errors[0] != want {
		t.Errorf("got %s", out.Text())
	}
	p.is(t, "import \"example.com/m\"\nm.V", "1", "int", target.Scratch)
}

// A declaration of the form stands in for the package's own, until it is forgotten.
func TestReplaceInPackage(t *testing.T) {
	links(t)
	t.Parallel()
	p := sharedShop(t)
	p.told(t, "func (i item) String() string { return \"mine\" }", "item.String stands in for the package's own (shop.go:22:15)")
	p.told(t, "var stock = []item{{\"rice\", 40}}", "stock stands in for the package's own (shop.go:13:5)")
	p.is(t, "fmt.Sprint(total(stock))", `"40 <nil>"`, "string")
	p.is(t, "fmt.Sprint(stock[0])", `"mine"`, "string")
	out := p.eval(t, "type item struct{ Name string }")
	if len(out.Errors) != 1 || out.Errors[0].Line != 1 || !strings.Contains(out.Message, "in place of the package's") ||
		!strings.Contains(out.Message, "shop.go:13:28: too many values") {
		t.Errorf("one that does not fit: %s", out.Text())
	}
	out = p.must(t, "fmt.Sprint(stock[0])") // nothing has changed
	if out.Values[0].Value != `"mine"` || out.Note != "" {
		t.Errorf("got %s", out.Text())
	}
}

func TestReset(t *testing.T) {
	links(t)
	t.Parallel()
	p := sharedShop(t)
	p.must(t, "import r \"math/rand\"\nvar a, b = 1, 2\ntype pair struct{ l, r int }\nfunc (p pair) sum() int { return p.l + a }\nfunc init() { println(\"again\") }")
	reset := func(form string, names ...string) evaluation {
		return decode[evaluation](t, p, "eval_form", args{"form": form, "reset": names})
	}
	for want, names := range map[string][]string{
		"has not declared none in package example.com/shop; it has declared a, b, pair, pair.sum, init, r": {"none"},
		"b were declared together": {"a"},
		"undefined: a (kept from":  {"a", "b"},
	} {
		if out := reset("", names...); out.OK || !strings.Contains(out.Message, want) {
			t.Errorf("%v: %s", names, out.Text())
		}
	}
	if out := reset("r.Intn(1)", "init", "pair"); !out.OK || out.Stderr != "" || !slices.Equal(out.Forgotten, []string{"pair", "pair.sum", "init"}) {
		t.Errorf("some: %s", out.Text())
	}
	if out := reset("", "*"); !out.OK || !slices.Equal(out.Forgotten, []string{"a", "b", "r"}) {
		t.Errorf("all: %s", out.Text())
	}
	if out := p.eval(t, "a"); out.OK {
		t.Errorf("what was forgotten is there: %s", out.Text())
	}
}

// What a form does to later ones, and what it does not keep, is told.
func TestNotes(t *testing.T) {
	links(t)
	t.Parallel()
	p := sharedShop(t)
	p.told(t, "1 + 1", "-")
	p.told(t, "x := 1", "x will be gone in the next form; var x = ... keeps it")
	p.told(t, "x := 1\nx + 1", "-")
	p.told(t, "var y, m = 1, map[string]int{}\ny++", "y will have the value of the declaration again")
	p.told(t, "m[\"a\"] = 1\ny", "m will have the value of the declaration again")
	p.told(t, "stock[0].price = 1", "stock will have")
	p.told(t, "func init() {}", "init runs at the beginning of each later form too")
	p.told(t, "var sort = 3", "sort hides package sort in later forms")
	p.is(t, "sort", "3", "int")
	p.told(t, "import \"sort\"\nsort.IntsAreSorted(nil)", "sort is the package, and no longer what form")
	p.told(t, "func sort() int { return 4 }", "sort is what the form declares, and no longer package sort")
	p.is(t, "sort()", "4", "int")
	out := p.eval(t, "import stock \"strings\"\nstock.ToUpper(\"x\")")
	if len(out.Errors) != 1 || out.Errors[0].Line != 1 || !strings.Contains(out.Message, "declares stock itself") {
		t.Errorf("an import under a name of the package: %s", out.Text())
	}
}

// A package at the root that does not compile does not keep forms from being evaluated.
func TestBrokenRoot(t *testing.T) {
	t.Parallel()
	const module = "module example.com/m\n\ngo 1.25\n"
	for name, c := range map[string]struct {
		files map[string]string
		why   string
	}{
		"types":  {map[string]string{"go.mod": module, "m.go": "package m\n\nvar V int = \"s\"\n"}, "m.go:3:13: cannot use"},
		"body":   {map[string]string{"go.mod": module, "m.go": "package m\n\nfunc f() { x := 1 }\n"}, "m.go:3:12: declared and not used"},
		"syntax": {map[string]string{"go.mod": module, "m.go": "package m\n\nfunc {\n"}, "m.go:3:6"},
		"import": {map[string]string{"go.mod": module, "m.go": "package m\n\nimport _ \"example.com/none\"\n"}, "example.com/none"},
		"module": {map[string]string{"go.mod": "modul x\n", "m.go": "package m\n"}, "unknown directive: modul"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := fresh(t, c.files)
			if !testing.Short() || name == "types" { // each is a program: make execution runs all
				out := p.must(t, "strings.ToUpper(\"a\")")
				if out.Package != target.Scratch || out.Values[0].Value != `"A"` || !strings.Contains(out.Note, "scratch package") ||
					!strings.Contains(out.Note, c.why) || strings.Contains(out.Note, p.Root) {
					t.Errorf("got %s", out.Text())
				}
			}
			if out := decode[compilation](t, p, "compile_form", args{"form": "1"}); !out.OK || !strings.Contains(out.Note, c.why) {
				t.Errorf("compiled: %s", out.Text())
			}
			if out := p.eval(t, "1", "."); out.OK || !strings.Contains(out.Message, c.why) {
				t.Errorf("asked for: %s", out.Text())
			}
		})
	}
}

// A package that is not of the workspace can be used from a scratch package.
func TestPackageOutside(t *testing.T) {
	links(t)
	t.Parallel()
	p := sharedShop(t)
	for _, pkg := range []string{"encoding/json", "json"} {
		out := p.must(t, "json.Valid(nil)", pkg)
		if out.Package != target.Scratch || !strings.Contains(out.Note, "package encoding/json is not of the workspace") {
			t.Errorf("%s: %s", pkg, out.Text())
		}
	}
	if out := p.eval(t, "Valid(nil)", "json"); out.OK || !strings.Contains(out.Message, "write json.Valid") {
		t.Errorf("a name without its package: %s", out.Text())
	}
}

// Names of generated code are in no answer.
func TestNothingGeneratedIsTold(t *testing.T) {
	t.Parallel()
	p := sharedShop(t)
	for text, want := range map[string]string{
		"1 << 70":                                "as int value (overflows); convert it",
		"1 +":                                    "1:4: the form ends too early: expected operand",
		"func f() {":                             "1:11: the form ends too early: expected '}'",
		"//go:embed x\nvar s string":             "1:1: //go:embed does not work in a form; read the file",
		"panic(\"x\")":                           "shop.form form",
		"package main\nfunc main() { panic(1) }": "shop.main form",
		"import \"example.com/shop/cmd/till\"":   "is a program",
	} {
		out := p.eval(t, text)
		if out.OK || !strings.Contains(out.Text(), want) || strings.Contains(strings.ToLower(out.Text()), "toolhost") {
			t.Errorf("%s: %s", text, out.Text())
		}
	}
}

// What only test files declare or import is there for forms that use it.
func TestTestSymbols(t *testing.T) {
	links(t)
	t.Parallel()
	p := fresh(t, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.25\n", "m.go": "package m\n\ntype T struct{}\n",
		"m_test.go":      "package m\n\nimport \"testing\"\n\ntype helper struct{ n int }\n\nfunc (T) Extra() helper { return helper{4} }\n\nfunc TestM(*testing.T) {}\n",
		"x_test.go":      "package m_test\n\nimport \"example.com/m\"\n\nvar X m.T\n",
		"only/o_test.go": "package only\n\nvar only = 5\n",
		"nested/go.mod":  "module example.com/nested\n\ngo 1.25\n", "nested/n.go": "package nested\n\nvar n = 7\n",
	})
	const note = "the package's test files are compiled with it"
	p.told(t, "T{}.Extra().n", note)
	p.told(t, "func extra() helper { return T{}.Extra() }", note)
	p.is(t, "extra().n", "4", "int")
	p.told(t, "func (T) Extra() helper { return helper{9} }", "T.Extra stands in for the package's own (m_test.go:7:10)")
	p.is(t, "extra().n", "9", "int")
	if out := p.compile(t, "helper{}"); !out.OK || !slices.Equal(out.Types, []string{"m.helper"}) {
		t.Errorf("compiled: %+v", out)
	}
	if out := decode[evaluation](t, p, "eval_form", args{"form": "nothing", "reset": []string{"*"}}); out.OK || out.Note != "" {
		t.Errorf("a name that is nowhere: %s", out.Text())
	}
	p.is(t, "only", "5", "int", "./only") // a package of test files
	p.is(t, "n", "7", "int", "nested")    // and one of another module
}
