package tools

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/introspection/internal/xref"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// depot is a module whose symbols are used in all ways.
var depot = map[string]string{
	"go.mod": "module example.com/depot\n\ngo 1.26\n",
	"stock/stock.go": `package stock

import "io"

type Mover interface{ Move(n int) error }

type Stock struct {
	Count int
	Rows  [3]int
	next  *Stock
}

func (s *Stock) Move(n int) error { s.Count += n; return nil }

func (s Stock) Total() int { return s.Count }

type Shelf struct{ *Stock }

type Room struct{ Shelf }

func (r Room) Open() {}

type Opener interface {
	Mover
	Open()
}

func Each[T any](all []T, f func(T)) {
	for _, v := range all {
		f(v)
	}
}

var Limit = Double(2)

func Double(n int) int { return n * 2 }

type Fault struct{}

func (Fault) Error() string { return "" }

func Copy(w io.Writer) (int, error) { return w.Write(nil) }
`,
	"use/use.go": `package use

import "example.com/depot/stock"

type mover interface{ Move(int) error }

func Static(s *stock.Stock, r stock.Room) {
	s.Move(1)
	go r.Move(2)
	defer (s.Move)(3)
	func() { _ = (*stock.Stock).Move(s, 4) }()
	f := s.Move
	_ = f
}

func Dynamic(m stock.Mover, o stock.Opener, own mover) {
	m.Move(1)
	o.Move(2)
	own.Move(3)
	interface{ Move(n int) error }(m).Move(4)
}

type other interface{ Move(n string) error }

type both interface {
	Move(n int) error
	Shut()
}

func Never(o other, b both) {
	o.Move("")
	b.Move(1)
}

func Generic[M stock.Mover](m M) {
	m.Move(1)
	stock.Each([]M{m}, func(M) {})
	stock.Each[M](nil, nil)
	each := stock.Each[int]
	_ = each
}

func Fail(err error) string { return err.Error() + stock.Fault{}.Error() }

var called = stock.Double(stock.Limit)

type sink struct{}

func (*sink) Write(p []byte) (int, error) { return stock.Copy(nil) }
`,
	"use/use_test.go": `package use

import "testing"

func TestUse(t *testing.T) { Never(nil, nil); helper() }

func helper() {}

type tested struct{ used int }

func (t *tested) touch() { t.used++ }

func touch(t *tested) { t.touch() }
`,
	"use/out_test.go": `package use_test

import (
	"testing"

	"example.com/depot/use"
)

func helper2() { use.Never(nil, nil) }

func TestOut(t *testing.T) { helper2() }
`,
	"broken/broken.go": `package broken

import "example.com/depot/stock"

func F() int { stock.Double(1); return undefined }
`,
}

func (b *bench) callsOf(t testing.TB, function, pkg string) callers {
	t.Helper()
	return decode[callers](t, b, "who_calls", callsIn{Function: function, Package: pkg})
}

// summary is a call on one line: position, function, and what else there is.
func summary(calls []called) []string {
	out := []string{}
	for _, c := range calls {
		out = append(out, strings.Join(strings.Fields(c.Position+" "+c.Function+" "+c.Statement+" "+c.Via), " "))
	}
	return out
}

func TestCalls(t *testing.T) {
	t.Parallel()
	b := shared(t, depot)
	const mover = "example.com/depot/stock.Mover.Move"
	for name, c := range map[string]struct {
		function, pkg string
		calls, values []string
	}{
		"a method, by name and through interfaces": {"Stock.Move", "", []string{
			"use/use.go:8:4 use.Static", "use/use.go:9:7 use.Static go", "use/use.go:10:11 use.Static defer",
			"use/use.go:11:30 use.Static", "use/use.go:17:4 use.Dynamic " + mover, "use/use.go:18:4 use.Dynamic " + mover,
			"use/use.go:19:6 use.Dynamic example.com/depot/use.mover.Move",
			"use/use.go:20:36 use.Dynamic interface{Move(n int) error}.Move", "use/use.go:36:4 use.Generic " + mover,
		}, []string{"use/use.go:12:9 use.Static"}},
		"a method by a type that it is promoted to": {"Room.Move", "stock", nil, nil},
		"an interface's method": {"Mover.Move", "stock", []string{
			"use/use.go:17:4 use.Dynamic " + mover, "use/use.go:18:4 use.Dynamic " + mover, "use/use.go:36:4 use.Generic " + mover,
		}, nil},
		"a method that no interface has": {"Stock.Total", "", []string{}, nil},
		"a generic function": {"stock.Each", "", []string{"use/use.go:37:8 use.Generic", "use/use.go:38:8 use.Generic"},
			[]string{"use/use.go:39:16 use.Generic"}},
		"a function, at package level and in broken code": {"stock.Double", "", []string{
			"broken/broken.go:5:22 broken.F", "stock/stock.go:34:13", "use/use.go:45:20",
		}, nil},
		"a method through the predeclared interface": {"Fault.Error", "", []string{
			"use/use.go:43:42 use.Fail error.Error", "use/use.go:43:66 use.Fail",
		}, nil},
		"a method through an interface of the standard library": {"sink.Write", "", []string{
			"stock/stock.go:42:48 stock.Copy io.Writer.Write",
		}, nil},
		"a function of the standard library's interface": {"io.Writer.Write", "", []string{
			"stock/stock.go:42:48 stock.Copy io.Writer.Write",
		}, nil},
		"from tests in the package and next to it": {"use.Never", "", []string{"use/out_test.go:9:22 use_test.helper2", "use/use_test.go:5:30 use.TestUse"}, nil},
		"a function of a test file":                {"helper", "", []string{"use/use_test.go:5:47 use.TestUse"}, nil},
		"a function of a test next to it":          {"helper2", "example.com/depot/use_test", []string{"use/out_test.go:11:30 use_test.TestOut"}, nil},
		"a method of a test file":                  {"tested.touch", "./use", []string{"use/use_test.go:13:27 use.touch"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := b.callsOf(t, c.function, c.pkg)
			if c.calls == nil {
				equal(t, got, b.callsOf(t, "stock.Stock.Move", ""))
				return
			}
			equal(t, summary(got.Calls), c.calls)
			equal(t, summary(got.ValueUses), append([]string{}, c.values...))
			if got.Total != len(c.calls) || got.ValueTotal != len(c.values) {
				t.Errorf("%d calls and %d values are counted", got.Total, got.ValueTotal)
			}
			equal(t, got.Errors, []string{"broken/broken.go:5:40: undefined: undefined"})
		})
	}
	got := b.callsOf(t, "Stock.Move", "stock")
	equal(t, got.Calls[1], called{site: site{"use/use.go:9:7", "use.Static", "go r.Move(2)"}, Statement: "go"})
	if got.Function != "example.com/depot/stock.Stock.Move" || got.Position != "stock/stock.go:13:17" {
		t.Errorf("the function is %s at %s", got.Function, got.Position)
	}
	assert.Equalf(t, b.callsOf(t, "helper", "use").Position, "use/use_test.go:7:6", "the test's function is at")
}

func TestCallsRefused(t *testing.T) {
	t.Parallel()
	b := shared(t, depot)
	for _, c := range []struct{ function, pkg, want string }{
		{"Stock", "", "example.com/depot/stock.Stock is a struct type, not a function"},
		{"Stock.Count", "", "example.com/depot/stock.Stock.Count is a field of type int, not a function"},
		{"tested.used", "", "example.com/depot/use.tested.used is a field of type int, not a function; describe_symbol tells more of it"},
		{"Duoble", "", `there is no symbol "Duoble" in the workspace; did you mean stock.Double?`},
		{"helper", "stock", `package example.com/depot/stock has no symbol "helper"`},
		{"append", "", "append is predeclared by the language"},
	} {
		if got := b.failing(t, "who_calls", callsIn{Function: c.function, Package: c.pkg}); !strings.HasPrefix(got, c.want) {
			t.Errorf("%q in %q: %s\nwant %s", c.function, c.pkg, got, c.want)
		}
	}
	for _, pkg := range []string{"-o=x", "/etc", "../x"} {
		for name, args := range map[string]any{
			"who_calls": callsIn{Function: "F", Package: pkg}, "who_references": referencesIn{Variable: "F", Package: pkg},
		} {
			if _, err := b.call(t, t.Context(), name, args); tool.CodeOf(err) != tool.CodePermissionDenied {
				t.Errorf("%s in %q: %v, want permission denied", name, pkg, err)
			}
		}
	}
	none := fresh(t, map[string]string{"a.go": "package a\n"})
	assert.Contains(t, none.failing(t, "who_calls", callsIn{Function: "fmt.Println"}), "the workspace has no go.mod")
}

// Answers are bounded, say how much is left, and can be continued.
func TestUsesAreBounded(t *testing.T) {
	t.Parallel()
	const count = 1507
	b := fresh(t, map[string]string{
		"go.mod":      "module example.com/m\n\ngo 1.26\n",
		"a/a.go":      "package a\n\nfunc F() {}\n\nfunc G() {\n" + strings.Repeat("\tF()\n", count-3) + "}\n\nvar V = F\n",
		"a/a_test.go": "package a\n\nfunc H() { F() }\n",
		"a/in/in.go":  "package in\n\nimport \"example.com/m/a\"\n\nfunc I() { a.F() }\n",
		"b/b.go":      "package b\n\nimport \"example.com/m/a\"\n\nfunc J() { a.F() }\n",
	})
	seen, parts := map[string]bool{}, 0
	for offset := 0; ; parts++ {
		res, err := b.call(t, t.Context(), "who_references", referencesIn{Variable: "F", within: within{page: page{Offset: offset}}})
		if err != nil || len(res.Text()) > maxAnswer+1024 {
			t.Fatalf("%d bytes, %v", len(res.Text()), err)
		}
		var got references
		require.NoError(t, json.Unmarshal(res.Structured, &got))
		if got.Total != count+1 || got.Accesses["call"] != count || got.Omitted != got.Total-offset-len(got.References) {
			t.Fatalf("from %d: %d of %d, %d left out", offset, len(got.References), got.Total, got.Omitted)
		}
		for _, r := range got.References {
			seen[r.Position] = true
		}
		if offset = got.NextOffset; offset == 0 {
			break
		}
	}
	if len(seen) != count+1 || parts == 0 {
		t.Errorf("%d references in %d parts, want %d", len(seen), parts, count+1)
	}
	last := decode[callers](t, b, "who_calls", callsIn{Function: "F", within: within{page: page{Offset: count - 1, Limit: 9}}})
	if len(last.Calls) != 1 || len(last.ValueUses) != 1 || last.NextOffset != 0 {
		t.Errorf("the last calls are %+v", last)
	}
	no := false
	for _, c := range []struct {
		in   within
		want int
	}{
		{within{Scope: "./b"}, 1}, {within{Scope: "b"}, 1}, {within{Scope: "example.com/m/b"}, 1}, {within{Scope: "./a/in"}, 1},
		{within{Scope: "./a"}, count - 2}, {within{Scope: "a", tests: tests{&no}}, count - 3},
		{within{Scope: "./a/..."}, count - 1}, {within{Scope: "example.com/m/..."}, count}, {within{Scope: "./..."}, count},
		{within{tests: tests{&no}}, count - 1},
	} {
		if got := decode[callers](t, b, "who_calls", callsIn{Function: "F", within: c.in}); got.Total != c.want {
			t.Errorf("in %+v there are %d calls, want %d", c.in, got.Total, c.want)
		}
	}
	for scope, want := range map[string]string{
		"fmt": "package fmt is not in the workspace", "./c/...": "there are no packages of the workspace in ./c/...", "d": `there is no package "d"`,
	} {
		if got := b.failing(t, "who_calls", callsIn{Function: "F", within: within{Scope: scope}}); !strings.HasPrefix(got, want) {
			t.Error(got)
		}
	}
	if _, err := b.call(t, t.Context(), "who_calls", callsIn{Function: "F", within: within{Scope: "../..."}}); tool.CodeOf(err) != tool.CodePermissionDenied {
		t.Errorf("a scope above the root: %v", err)
	}
}

func TestCallsRefresh(t *testing.T) {
	t.Parallel()
	b := fresh(t, map[string]string{
		"go.mod":      "module example.com/m\n\ngo 1.26\n",
		"a/a.go":      "package a\n\ntype T struct{}\n\nfunc F() *T { return nil }\n",
		"b/b.go":      "package b\n\nimport \"example.com/m/a\"\n\nfunc G() *a.T { return a.F() }\n",
		"c/c.go":      "package c\n\nimport (\n\t\"example.com/m/a\"\n\t\"example.com/m/b\"\n)\n\nvar V *a.T = b.G()\n",
		"d/d.go":      "package d\n",
		"d/d_test.go": "package d\n",
	})
	expect := func(function string, want ...string) {
		t.Helper()
		got := b.callsOf(t, function, "")
		equal(t, summary(got.Calls), append([]string{}, want...))
		if got.Errors != nil {
			t.Errorf("the errors are %v", got.Errors)
		}
	}
	program := func() *xref.Program {
		t.Helper()
		p := require.Must(b.snapshot(t).Program(t.Context()))(t)
		return p
	}
	indexOf := func(path string) *xref.Index {
		t.Helper()
		for _, x := range program().Indexes {
			if x.Path() == path {
				return x
			}
		}
		t.Fatalf("package %s is not searched", path)
		return nil
	}
	expect("a.F", "b/b.go:5:26 b.G")
	before, above, apart := program(), indexOf("example.com/m/b"), indexOf("example.com/m/d")
	expect("b.G", "c/c.go:8:16")
	assert.Equalf(t, program(), before, "an unchanged workspace was checked twice")

	// Within a body: one package. In a declaration: those above it too.
	b.edit(t, "a/a.go", "package a\n\ntype T struct{}\n\nfunc F() *T { return F() }\n", time.Second)
	expect("a.F", "a/a.go:5:22 a.F", "b/b.go:5:26 b.G")
	assert.Equalf(t, indexOf("example.com/m/b"), above, "a change within a function made the checker check other packages again")
	b.edit(t, "a/a.go", "package a\n\ntype T struct{ X int }\n\nfunc F() *T { return nil }\n", 2*time.Second)
	expect("a.F", "b/b.go:5:26 b.G")
	if indexOf("example.com/m/b") == above || indexOf("example.com/m/d") != apart {
		t.Error("the wrong packages were checked again")
	}

	// An edit that is taken back, with a question about one package in between:
	// types of two checks must not meet.
	b.edit(t, "a/a.go", "package a\n\ntype T struct{ Y int }\n\nfunc F() *T { return nil }\n", 3*time.Second)
	b.symbolOf(t, "F", "a")
	b.symbolOf(t, "G", "b")
	b.edit(t, "a/a.go", "package a\n\ntype T struct{ X int }\n\nfunc F() *T { return nil }\n", 4*time.Second)
	b.symbolOf(t, "F", "a")
	if got := b.symbolOf(t, "V", "c").Errors; got != nil {
		t.Errorf("the errors are %v", got)
	}
	expect("b.G", "c/c.go:8:16")

	// Test files, new files and new imports.
	b.edit(t, "d/d_test.go", "package d\n\nimport \"example.com/m/a\"\n\nfunc h() { a.F() }\n", time.Second)
	b.edit(t, "d/new.go", "package d\n\nimport \"os\"\n\nvar Args = os.Getpid()\n", time.Second)
	expect("a.F", "b/b.go:5:26 b.G", "d/d_test.go:5:14 d.h")
	expect("os.Getpid", "d/new.go:5:15")
}

// The position of a declaration is the present one, also if only lines above it
// changed and it is promoted to another package.
func TestPositionsRefresh(t *testing.T) {
	t.Parallel()
	b := fresh(t, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"p/p.go": "package p\n\nfunc f() {}\n\ntype Base struct{}\n\nfunc (Base) M() {}\n",
		"q/q.go": "package q\n\nimport \"example.com/m/p\"\n\ntype Outer struct{ p.Base }\n",
	})
	assert.Equalf(t, b.symbolOf(t, "Outer.M", "").Position, "p/p.go:7:13", "M is at")
	b.callsOf(t, "Outer.M", "")
	b.edit(t, "p/p.go", "package p\n\nfunc f() {\n\tf()\n}\n\ntype Base struct{}\n\nfunc (Base) M() {}\n", time.Second)
	assert.Equalf(t, b.symbolOf(t, "Outer.M", "").Position, "p/p.go:9:13", "after an edit above it M is at")
	assert.Equalf(t, b.callsOf(t, "Outer.M", "").Position, "p/p.go:9:13", "after an edit above it the callers' M is at")
}

// A package that is C in part is answered about like any other.
func TestCallsOfC(t *testing.T) {
	t.Parallel()
	b := fresh(t, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"c/c.go": "package c\n\n// static int twice(int n) { return 2 * n; }\nimport \"C\"\n\n" +
			"func Twice(n int) int { return int(C.twice(C.int(n))) }\n\nfunc four() int { return Twice(2) }\n",
	})
	if got := b.symbolOf(t, "Twice", ""); got.Signature != "func Twice(n int) int" || got.Errors != nil {
		t.Errorf("Twice is %+v", got)
	}
	got := b.callsOf(t, "Twice", "")
	equal(t, summary(got.Calls), []string{"c/c.go:8:26 c.four"})
	if got.Errors != nil {
		t.Errorf("the errors are %v", got.Errors)
	}
}
