package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/execution/internal/form"
	"github.com/toolhost/toolhost/plugins/execution/internal/target"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Values and types of expressions, unexported names of the package among them.
func TestExpressions(t *testing.T) {
	links(t)
	t.Parallel()
	p := sharedShop(t)
	p.is(t, "1 + 2", "3", "int")
	p.is(t, "stock[0]", `shop.item{Name:"tea", price:3}`, "shop.item")
	p.is(t, `strings.Repeat("ab", 2)`, `"abab"`, "string") // imported automatically
	p.is(t, "nil", "nil", "untyped nil")
	p.is(t, "[]byte{1}", "[]byte{0x1}", "[]byte")
	p.is(t, `[]byte("tea\n")`, `[]byte("tea\n")`, "[]byte")
	p.is(t, `json.RawMessage("{}")`, `json.RawMessage("{}")`, "json.RawMessage")
	p.is(t, `[]any{"[]uint8{0x41}", []byte("\"A\""), []byte{0}}`,
		`[]interface {}{"[]uint8{0x41}", []byte("\"A\""), []uint8{0x0}}`, "[]any")
	p.is(t, `map[string]int{"a": 1}`, `map[string]int{"a":1}`, "map[string]int")
	p.is(t, "error(nil)", "nil", "error")
	out := p.must(t, "total(stock)")
	if len(out.Values) != 2 || out.Values[0].Value != "5" || out.Values[1] != (value{Type: "error", Value: "nil"}) {
		t.Errorf("two values: %+v", out.Values)
	}
	out = p.must(t, "fmt.Stringer(stock[1])")
	if v := out.Values[0]; v.Type != "fmt.Stringer" || v.Dynamic != "shop.item" || v.Text != "MILK at 2" {
		t.Errorf("a value in an interface: %+v", v)
	}
	assert.Equalf(t, out.Package, "example.com/shop", "evaluated in")
}

func TestStatements(t *testing.T) {
	t.Parallel()
	p := sharedShop(t)
	out := p.must(t, "x := 2 // two\nfor i := 0; i < 3; i++ {\n\tx *= 2\n}\nprintln(\"err\")\nfmt.Print(\"out\")\nx /* twice */")
	if out.Stdout != "out" || out.Stderr != "err\n" || len(out.Values) != 1 || out.Values[0].Value != "16" {
		t.Errorf("got %+v", out)
	}
	if testing.Short() {
		return // each form is another program: make execution runs them
	}
	if out := p.must(t, "x := 1"); len(out.Values)+len(out.Declared) != 0 { // not unused
		t.Errorf("a definition: %+v", out)
	}
	if out := p.must(t, "func() {}()"); len(out.Values) != 0 {
		t.Errorf("a call without results: %+v", out)
	}
	if out := p.must(t, "func() int { return 4 }()"); out.Values[0].Value != "4" {
		t.Errorf("a call of a literal: %+v", out)
	}
}

// Declarations last for the session; declaring a name again replaces it.
func TestDeclarations(t *testing.T) {
	links(t)
	t.Parallel()
	p := sharedShop(t)
	for _, step := range []struct {
		form     string
		declared []string
	}{
		{"var a, b = 1, 2", []string{"a", "b"}},
		{"func twice(i int) int { return 2 * i }", []string{"twice"}},
		{"type pair struct{ l, r int }\n\nfunc (p *pair) sum() int { return twice(p.l + p.r) }", []string{"pair", "pair.sum"}},
		{"const (\n\tzero = iota\n\tone\n)", []string{"zero", "one"}},
		{`import r "math/rand"`, []string{"r"}},
	} {
		if out := p.must(t, step.form); !slices.Equal(out.Declared, step.declared) {
			t.Errorf("%s declared %v", step.form, out.Declared)
		}
	}
	p.is(t, "(&pair{a, b}).sum() + one", "7", "int")
	p.is(t, "r.Intn(1)", "0", "int")
	p.must(t, "func twice(i int) int { return 20 * i }")
	p.is(t, "(&pair{a, b}).sum()", "60", "int")
	p.must(t, "type pair struct{ l, r, more int }") // its method stays
	p.is(t, "(&pair{l: 1}).sum()", "20", "int")
	if out := p.must(t, "var c = a + 5"); out.Values[0] != (value{Name: "c", Type: "int", Value: "6"}) {
		t.Errorf("a variable's value: %+v", out.Values)
	}
	out := p.eval(t, "type pair struct{ l string }")
	if out.OK || out.Kind != "compile" || !strings.Contains(out.Message, "kept from form 3") {
		t.Errorf("a declaration that breaks another: %s", out.Text())
	}
	p.is(t, "(&pair{l: 1}).sum()", "20", "int") // nothing was lost
	if out := p.eval(t, "var a = 5"); out.OK || !strings.Contains(out.Message, "b") {
		t.Errorf("a half of what was declared together: %s", out.Text())
	}
	if out := p.eval(t, `var boom = func() int { panic("at start") }()`); out.OK || out.Kind != "panic" || out.Message != "panic: at start" {
		t.Errorf("an initializer that panics: %+v", out)
	}
	p.is(t, "a", "1", "int") // and it is not kept
}

// Declarations and statements together, and whole programs.
func TestMixed(t *testing.T) {
	links(t)
	t.Parallel()
	p := sharedShop(t)
	out := p.must(t, "import \"os\"\n\ntype n int\nfunc (v n) inc() n { return v + 1 }\nx := n(1)\nfunc add(v n) n { return v + 10 }\nadd(x.inc())")
	if out.Values[0].Value != "12" || !slices.Equal(out.Declared, []string{"n", "n.inc", "add", "os"}) {
		t.Errorf("got %+v", out)
	}
	out = p.must(t, "package main\n\nimport \"fmt\"\n\nfunc helper() string { return \"hi\" }\n\nfunc main() { fmt.Println(helper()) }\n")
	if out.Stdout != "hi\n" || !slices.Equal(out.Declared, []string{"helper", "fmt"}) {
		t.Errorf("a program: %+v", out)
	}
}

// A session does not see what another declared, and callers without one keep nothing.
func TestSessionsAreApart(t *testing.T) {
	links(t)
	t.Parallel()
	one := sharedShop(t)
	two, nobody := one, one
	two.Session, nobody.Session = one.Session+"2", ""
	one.must(t, "var secret = 42")
	if out := two.eval(t, "secret"); out.OK || !strings.Contains(out.Message, "undefined: secret") {
		t.Errorf("another session: %s", out.Text())
	}
	if out := nobody.must(t, "var mine = 1"); out.Note != noSession || len(out.Declared) != 0 {
		t.Errorf("without a session: %+v", out)
	}
	if out := nobody.eval(t, "mine"); out.OK {
		t.Errorf("an anonymous call sees another's: %s", out.Text())
	}
	if out := decode[lastError](t, nobody, "get_last_error", args{}); out.Found {
		t.Errorf("an anonymous call sees another's failure: %+v", out)
	}
	if out := one.eval(t, "secret", "deep"); out.OK {
		t.Errorf("another package: %s", out.Text())
	}
}

func TestPositionsAreInTheForm(t *testing.T) {
	links(t)
	t.Parallel()
	p := sharedShop(t)
	p.must(t, "func ok() {}")
	for text, want := range map[string]form.Problem{
		"x := 1\n  y := x + \"s\"\n_ = y":                    {Line: 2, Column: 8},
		"undefinedName":                                      {Line: 1, Column: 1, Message: "undefined: undefinedName"},
		"len(stock) +\n\n  missing":                          {Line: 3, Column: 3, Message: "undefined: missing"},
		"func f() int {\n\treturn \"s\"\n}":                  {Line: 2, Column: 9},
		"var (\n\tp = 1\n\tq int = \"s\"\n)":                 {Line: 3, Column: 10},
		"x :=\n\n 5 +":                                       {Line: 3, Column: 5},
		"if true {\n  x y\n}":                                {Line: 2, Column: 5},
		"import \"example.com/none\"\n1":                     {Line: 1, Column: 8},
		"func g() {}; type h struct { a undefinedHere }":     {Line: 1, Column: 32, Message: "undefined: undefinedHere"},
		"other.Call()":                                       {Line: 1, Column: 1},
		"x := 1\nfunc late() { x() }\nlate()\nstock.Wrong()": {Line: 2, Column: 15, Message: "undefined: x"},
	} {
		out := p.eval(t, text)
		if out.OK || out.Kind != "compile" || len(out.Errors) == 0 {
			t.Errorf("%q: %+v", text, out)
			continue
		}
		got := out.Errors[0]
		if got.Line != want.Line || got.Column != want.Column || want.Message != "" && got.Message != want.Message {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func TestUnbalancedForms(t *testing.T) {
	t.Parallel()
	p := sharedShop(t)
	for _, form := range []string{"}", "} func evil() {", "1 }; func init() { println(1)", "/* open", "`open", "func f() { }} {", "(", "\"", ")))", "package", "func", "import", "var", " \n\t", "// only a comment", ";;"} {
		if out := p.eval(t, form); out.OK || out.Message == "" {
			t.Errorf("%q: %+v", form, out)
		}
	}
	for _, form := range []string{"1\x002", "\xff", strings.Repeat("1+", form.MaxSize/2) + "11"} {
		res, err := p.Execute(t.Context(), tool.Call{Name: "eval_form", Session: p.Session, Arguments: []byte(`{"form":` + quote(form) + `}`)})
		if err != nil || !res.IsError {
			t.Errorf("%.20q: %.200s, %v", form, res.Text(), err)
		}
	}
}

// quote is JSON that keeps bytes that are not UTF-8 apart from others.
func quote(s string) string {
	return `"` + strings.NewReplacer("\x00", `\u0000`, "\xff", `\ud800`).Replace(s) + `"`
}

// The package at the root, in a directory, by name, by path; internal ones and
// programs.
func TestPackages(t *testing.T) {
	links(t)
	t.Parallel()
	p := sharedShop(t)
	p.is(t, "hidden() + Depth", "6", "int", "example.com/shop/internal/deep")
	p.is(t, "hidden()", "3", "int", "./internal/deep")
	p.is(t, "hidden()", "3", "int", "deep")
	p.is(t, "hidden()", "3", "int", "internal/deep")
	p.is(t, "opened", "true", "bool", "./cmd/till") // and its main function does not run
	p.is(t, "len(stock)", "2", "int", ".")
	p.is(t, `template.Must(T.Parse("x")).Name()`, `""`, "string", "old") // as its files import it
	for pkg, want := range map[string]string{
		"same": "ambiguous: it can be example.com/shop/a/same, example.com/shop/b/same", "dep": "did you mean deep",
		"./empty": "no Go files", "./none": "no directory", "./internal/old/other": "no directory",
	} {
		if out := p.eval(t, "1", pkg); out.OK || !strings.Contains(out.Message, want) {
			t.Errorf("package %s: %s", pkg, out.Text())
		}
	}
	for _, pkg := range []string{"../x", "/etc", "-a", "./../..", "a/...", "./a/../../b"} {
		if _, err := p.Call(t, "eval_form", args{"form": "1", "package": pkg}); tool.CodeOf(err) != tool.CodePermissionDenied {
			t.Errorf("package %s: %v", pkg, err)
		}
	}
}

func TestPackageThatDoesNotCompile(t *testing.T) {
	links(t)
	t.Parallel()
	p := sharedShop(t)
	for pkg, want := range map[string]string{"broken": "broken/broken.go:3:23", "worse": "broken/worse/worse.go:3:7"} {
		out := p.eval(t, "1", pkg)
		if out.OK || !strings.Contains(out.Message, want) || strings.Contains(out.Message, p.Root) {
			t.Errorf("package %s: %s", pkg, out.Text())
		}
	}
}

// A module without a package at its root has a scratch package, a directory
// without a module too.
func TestScratch(t *testing.T) {
	links(t)
	t.Parallel()
	bare := fresh(t, nil)
	bare.is(t, `len(os.Getenv("nothing"))`, "0", "int")
	bare.must(t, "func f() int { return 7 }")
	bare.is(t, "f()", "7", "int")
	if out := bare.eval(t, "1", "x"); out.OK || !strings.Contains(out.Message, "no go.mod") {
		t.Errorf("a package without a module: %s", out.Text())
	}
	module := fresh(t, map[string]string{"go.mod": "module example.com/m\n\ngo 1.17\n", "internal/x/x.go": "package x\n\nconst X = 5\n"})
	out := module.must(t, "import \"example.com/m/internal/x\"\nx.X")
	if out.Package != target.Scratch || out.Values[0].Value != "5" {
		t.Errorf("an internal package from scratch: %+v", out)
	}
	for _, p := range []plugin{bare, module} {
		err := filepath.WalkDir(p.Root, func(path string, _ os.DirEntry, err error) error {
			assert.NotContainsf(t, path, "toolhost", "the workspace has")
			return err
		})
		assert.NoError(t, err)
	}
}

// What changes on disk is seen by the next call.
func TestChangedFiles(t *testing.T) {
	links(t)
	t.Parallel()
	p := fresh(t, map[string]string{"go.mod": "module example.com/m\n\ngo 1.25\n", "m.go": "package m\n\nvar v = 1\n"})
	p.is(t, "v", "1", "int")
	p.WriteFile(t, "m.go", "package m\n\nvar v = \"longer\"\n")
	p.WriteFile(t, "n.go", "package m\n\nvar w = 2\n")
	p.is(t, "v", `"longer"`, "string")
	p.is(t, "w", "2", "int")
}

func TestAmbiguousImport(t *testing.T) {
	t.Parallel()
	p := sharedShop(t)
	p.is(t, "rand.IntN(1)", "0", "int") // only math/rand/v2 has it
	if out := p.eval(t, "rand.Int()"); out.OK || !strings.Contains(out.Message, `"crypto/rand" or "math/rand" or "math/rand/v2"`) {
		t.Errorf("an ambiguous name: %s", out.Text())
	}
}

func TestNoToolchain(t *testing.T) {
	p := fresh(t, nil)
	t.Setenv("PATH", "")
	t.Setenv("GOROOT", "")
	for _, name := range []string{"eval_form", "compile_form"} {
		res, err := p.Call(t, name, args{"form": "1"})
		if err != nil || !res.IsError || !strings.Contains(res.Text(), "there is no Go toolchain") {
			t.Errorf("%s: %s, %v", name, res.Text(), err)
		}
	}
	if out := decode[history](t, p, "get_repl_history", args{}); len(out.Entries) != 2 {
		t.Errorf("the history: %+v", out)
	}
	if out := decode[lastError](t, p, "get_last_error", args{}); !out.Found {
		t.Error("no last error")
	}
}

func TestDefinitions(t *testing.T) {
	t.Parallel()
	defs := require.Must(sharedShop(t).List(t.Context()))(t)
	want := []struct {
		name       string
		safety     tool.Safety
		categories []string
	}{
		{"check_package", tool.Cautious, []string{"checks"}},
		{"compile_form", tool.Cautious, []string{"execution"}},
		{"eval_form", tool.Cautious, []string{"execution"}},
		{"get_last_error", tool.Safe, []string{"execution", "debugging"}},
		{"get_repl_history", tool.Safe, []string{"execution"}},
		{"run_tests", tool.Cautious, []string{"checks"}},
	}
	if len(defs) != len(want) {
		t.Fatalf("%d tools", len(defs))
	}
	for i, d := range defs {
		if w := want[i]; d.Name != w.name || d.Safety != w.safety || !slices.Equal(d.Categories, w.categories) || d.Permission != tool.Exec {
			t.Errorf("%+v, want %+v", d, w)
		}
	}
}

// A call that is given up ends the compiler and the program, and nothing stays in
// the temporary directory.
func TestCanceledCall(t *testing.T) {
	links(t)
	t.Parallel()
	p := fresh(t, nil, `{"confine": false}`) // it says in which directory it runs
	ready := filepath.Join(t.TempDir(), "ready")
	form := "os.WriteFile(" + quote(ready) + ", []byte(os.TempDir()), 0o600)\nselect { case <-time.After(time.Minute): }"
	if err := p.abandon(t, ready, "eval_form", args{"form": form}); tool.CodeOf(err) != tool.CodeCanceled {
		t.Fatalf("got %v", err)
	}
	temp := require.Must(os.ReadFile(ready))(t)
	if _, err := os.Stat(filepath.Dir(string(temp))); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", filepath.Dir(string(temp)), err)
	}
	p.is(t, "1", "1", "int") // and the session goes on
}
