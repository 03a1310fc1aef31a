package tools

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/plugins/introspection/internal/expand"
)

func (b *bench) expansionOf(t testing.TB, form, pkg string, full bool) expansion {
	t.Helper()
	return decode[expansion](t, b, "macroexpand_form", macroexpandIn{Form: form, Package: pkg, Full: full})
}

// forms is a module with all that an expression can leave unsaid.
var forms = map[string]string{
	"go.mod": "module example.com/forms\n\ngo 1.26\n",
	"f/f.go": `package f

import (
	"fmt"
	str "strings"
	"time"
)

type Base struct{ Count int }

func (b *Base) Add(n int) {}
func (b Base) Total() int { return b.Count }

type Middle struct{ *Base }

type Item struct {
	Middle
	fmt.Stringer
	inner
	Price float64
}

type inner struct{ Depth int8 }

func (i inner) Deep() int8 { return i.Depth }

type Color uint8

const Red Color = 7

const Small = 3

type Names []string

type Handler func(string) error

func (h Handler) Handle(s string) error { return h(s) }

func Map[T, U any](in []T, f func(T) U) []U { return nil }

func Convert[To, From any](v From) (to To) { return }

func Show(v any, more ...fmt.Stringer) {}

func Take(p *Item, e error, names Names, h Handler) {}

func two() (int, error) { return 0, nil }

var (
	item  Item
	ptr   *Item
	ints  []int
	table map[any]float64
	array *[4]int
	n64   int64
	word  string
	wait  time.Duration
	who   fmt.Stringer
	local = str.ToUpper("x")
	byName map[string]*Base
	flags  uint
	grid  = [][]Base{{{1}}}
)
`,
}

func TestMacroexpand(t *testing.T) {
	t.Parallel()
	b := shared(t, forms)
	for form, want := range map[string]string{
		// Type arguments.
		`Map(ints, func(i int) string { return word })`: "Map[int, string](ints, func(i int) string { return word })",
		`Convert[string](ints)`:                         "Convert[string, []int](ints)",
		`Map[int, string]`:                              "Map[int, string]",
		// Promoted selectors, & and *.
		`item.Count`:        "(*item.Middle.Base).Count",
		`item.Add(ints[0])`: "item.Middle.Base.Add(ints[0])",
		`item.Total()`:      "(*item.Middle.Base).Total()",
		`ptr.Count`:         "(*(*ptr).Middle.Base).Count",
		`ptr.Price`:         "(*ptr).Price",
		`ptr.String()`:      "(*ptr).Stringer.String()",
		`item.Deep`:         "item.inner.Deep",
		`(*ptr).Price`:      "(*ptr).Price",
		`grid[0][1].Total`:  "grid[0][1].Total",
		`Item.Total`:        "Item.Total",
		`array[1]`:          "(*array)[1]",
		`array[:n64]`:       "(*array)[:n64]",
		`len(array)`:        "len(*array)",
		// Constants.
		`n64 + 1`:            "n64 + int64(1)",
		`wait * 2`:           "wait * time.Duration(2)",
		`n64 << 3`:           "n64 << 3",
		`wait > 1<<3+Small`:  "wait > time.Duration(1<<3+Small)",
		`Red + 1`:            "Red + Color(1)",
		`float64(1)`:         "float64(1)",
		`1 + 2`:              "1 + 2",
		`flags == 0 || true`: "flags == uint(0) || true",
		`time.Sleep(5)`:      "time.Sleep(time.Duration(5))",
		// Interfaces and assignability.
		`Show(1)`:                  "Show(any(int(1)))",
		`Show(word, item)`:         "Show(any(word), fmt.Stringer(item))",
		`Show(nil, nil)`:           "Show(any(nil), fmt.Stringer(nil))",
		`Show(who)`:                "Show(any(who))",
		`Take(nil, nil, nil, nil)`: "Take((*Item)(nil), error(nil), Names(nil), Handler(nil))",
		`Take(ptr, nil, []string{"a"}, func(s string) error { return nil })`: `Take(ptr, error(nil), Names([]string{string("a")}), Handler(func(s string) error { return nil }))`,
		`table["k"]`:                        `table[any(string("k"))]`,
		`map[any]float64{1: 2, "a": Small}`: `map[any]float64{any(int(1)): float64(2), any(string("a")): float64(Small)}`,
		`append(ints, 1)`:                   "append(ints, int(1))",
		`append([]any{}, ints)`:             "append([]any{}, any(ints))",
		`append([]byte("x"), word...)`:      `append([]byte("x"), word...)`,
		`who == item`:                       "who == fmt.Stringer(item)",
		`who == nil`:                        "who == nil",
		`make([]int, 3)`:                    "make([]int, 3)",
		`str.Repeat(word, 2)`:               "str.Repeat(word, int(2))",
		`fmt.Sprintf("%d", 1)`:              `fmt.Sprintf(string("%d"), any(int(1)))`,
		`fmt.Println(two())`:                "fmt.Println(two())",
		`any(1)`:                            "any(int(1))",
		// Types of literals.
		`[]Base{{1}, {Count: 2}}`:      "[]Base{Base{int(1)}, Base{Count: int(2)}}",
		`map[string]*Base{"a": {}}`:    `map[string]*Base{string("a"): &Base{}}`,
		`[...]string{2: "a"}`:          `[...]string{2: string("a")}`,
		`Item{Middle: Middle{nil}}`:    "Item{Middle: Middle{(*Base)(nil)}}",
		`struct{ E error }{E: nil}`:    "struct{ E error }{E: error(nil)}",
		`&Item{}`:                      "&Item{}",
		`chan<- int(make(chan int))`:   "chan<- int(make(chan int))",
		`ptr != nil && ptr.Count == 0`: "ptr != nil && (*(*ptr).Middle.Base).Count == int(0)",
		`func(e error) {}`:             "func(e error) {}",
		`-item.Price`:                  "-item.Price",
		`[]int`:                        "[]int",
		`math.Sqrt(2)`:                 "math.Sqrt(float64(2))",
		`interface{ M() }(nil)`:        "interface{ M() }(nil)",
	} {
		assert.Equalf(t, b.expansionOf(t, form, "f", false).Expanded, want, "%s\nexpands to", form)
	}
}

func TestMacroexpandFull(t *testing.T) {
	t.Parallel()
	b := shared(t, forms)
	for form, want := range map[string]string{
		`n64 + Small*2`:               "n64 + int64(6)",
		`Red`:                         "Color(7)",
		`time.Second * 2`:             "time.Duration(2000000000)",
		`1 << 3`:                      "8",
		`"a" + "b"`:                   `"ab"`,
		`Show("a" + "b")`:             `Show(any(string("ab")))`,
		`1.5 * 2`:                     "3.0",
		`1.0 / 3`:                     "1.0 / 3",
		`float64(1.0 / 3)`:            "float64(0.3333333333333333)",
		`float32(0.1)`:                "float32(0.1)",
		`len("abc") + 'a'`:            "int(100)",
		`Small > 2`:                   "true",
		`complex(1, 2)`:               "1.0 + 2.0i",
		`len(array)`:                  "int(4)",
		`ints[Small-1]`:               "ints[2]",
		`[Small]int{}`:                "[Small]int{}",
		`math.MaxInt8 + n64`:          "int64(127) + n64",
		`func() int { return Small }`: "func() int { return Small }",
		`-5`:                          "-5",
		`n64 - -5`:                    "n64 - int64(-5)",
	} {
		assert.Equalf(t, b.expansionOf(t, form, "f", true).Expanded, want, "%s\nexpands to", form)
	}
}

func TestMacroexpandAnswer(t *testing.T) {
	t.Parallel()
	b := shared(t, forms)
	equal(t, b.expansionOf(t, "time.Second + 1", "f", true), expansion{
		Expanded: "time.Duration(1000000001)", Type: "time.Duration", Value: "1000000001", Package: "example.com/forms/f",
		Imports: []importing{{"time", "time"}},
	})
	equal(t, b.expansionOf(t, "two()", "f", false).Type, "(int, error)")
	equal(t, b.expansionOf(t, "Show(1)", "f", false).Type, "no value")
	equal(t, b.expansionOf(t, "str.Fields", "./f", false).Imports, []importing{{"str", "strings"}})
	// The package is the one that has the names.
	equal(t, b.expansionOf(t, "wait + 1", "", false).Package, "example.com/forms/f")
	// A form that needs no package, and one that names packages only.
	equal(t, b.expansionOf(t, "1 + 2", "", true), expansion{Expanded: "3", Type: "untyped int", Value: "3"})
	equal(t, b.expansionOf(t, "strings.NewReader(`x`).Len() + f.Small", "", false), expansion{
		Expanded: "strings.NewReader(string(`x`)).Len() + int(f.Small)", Type: "int",
		Imports: []importing{{"f", "example.com/forms/f"}, {"strings", "strings"}},
	})
	// A package that f does not import fits the types that it does.
	equal(t, b.expansionOf(t, "strconv.Itoa(ptr.Count)", "f", false), expansion{
		Expanded: "strconv.Itoa((*(*ptr).Middle.Base).Count)", Type: "string", Package: "example.com/forms/f",
		Imports: []importing{{"strconv", "strconv"}},
	})
	equal(t, b.expansionOf(t, "fmt.Fprint(os.Stdout)", "f", false).Expanded, "fmt.Fprint(io.Writer(os.Stdout))")
}

func TestMacroexpandFails(t *testing.T) {
	t.Parallel()
	b := shared(t, forms)
	deep := strings.Repeat("(", 501) + "1" + strings.Repeat(")", 501)
	for _, c := range []struct{ form, pkg, want string }{
		{"1 +", "f", "the form is not a Go expression: 1:4: expected operand, found 'EOF'; macroexpand_form expands expressions"},
		{"x := 1", "f", "the form is not a Go expression: 1:3: expected 'EOF', found ':='; macroexpand_form expands expressions such as f(x, 1), not statements: to expand x := f(y), give f(y)"},
		{"func f() {}", "f", "the form is not a Go expression: 1:6: "},
		{"import `fmt`", "f", "the form is not a Go expression: "},
		{"}(); func() {", "f", "the form is not a Go expression: "},
		{"Pirce", "f", "the form does not compile: 1:1: undefined: Pirce"},
		{"itme.Count", "f", "the form does not compile: 1:1: undefined: itme; did you mean Item, item"},
		{"fmt.Prinln()", "f", "the form does not compile: 1:5: undefined: fmt.Prinln; did you mean Println"},
		{"item.Cuont", "f", "the form does not compile: 1:6: item.Cuont undefined"},
		{"1 + `a`", "f", "the form does not compile: 1:"},
		{"Show(\n`a`, 1)", "f", "the form does not compile: 2:6: cannot use"},
		{"itme.Count", "", "no package of the workspace has itme; name the package that the form stands in; did you mean f.Item, f.item"},
		{"template.New(``)", "f", "package template is ambiguous: it can be html/template, text/template"},
		{"1", "nowhere", `there is no package "nowhere"`},
		{deep, "f", "the form is nested more than 500 deep"},
		{strings.Repeat("- ", 5000) + "1", "f", "the form is nested more than 500 deep"},
		{strings.Repeat(" ", expand.MaxForm) + "1", "f", "the form has 65537 bytes"},
	} {
		got := b.failing(t, "macroexpand_form", macroexpandIn{Form: c.form, Package: c.pkg})
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%.60q in %q: %.300s\nwant %s", c.form, c.pkg, got, c.want)
		}
	}
}

func TestMacroexpandBroken(t *testing.T) {
	t.Parallel()
	shop := sharedShop(t)
	got := shop.expansionOf(t, "Fine{A: 1}", "broken", false)
	if got.Expanded != "Fine{A: int32(1)}" || len(got.Errors) != 3 {
		t.Errorf("in a package that does not compile: %+v", got)
	}
	if got := shop.failing(t, "macroexpand_form", macroexpandIn{Form: "Bad{}.X", Package: "broken"}); !strings.Contains(got, "something that does not compile; the package does not compile: broken/broken.go:4:8") {
		t.Error(got)
	}
	if got := shop.failing(t, "macroexpand_form", macroexpandIn{Form: "Coin{}"}); !strings.HasPrefix(got, "the package of Coin is ambiguous: it can be example.com/shop/a/money, example.com/shop/b/money") {
		t.Error(got)
	}
	// Two files that import different packages under one name.
	b := fresh(t, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"a.go":   "package m\n\nimport \"math/rand\"\n\nvar A = rand.Int()\n",
		"b.go":   "package m\n\nimport \"crypto/rand\"\n\nvar B = rand.Reader\n",
	})
	if got := b.failing(t, "macroexpand_form", macroexpandIn{Form: "rand.Read", Package: "."}); !strings.HasPrefix(got, "package rand is ambiguous: it can be crypto/rand, math/rand") {
		t.Error(got)
	}
	// What is selected may tell which is meant.
	if got := b.expansionOf(t, "rand.Int31()", ".", false).Imports; len(got) != 1 || got[0].Path != "math/rand" {
		t.Errorf("rand.Int31 is of %+v", got)
	}
	assert.Equalf(t, b.expansionOf(t, "A + 1", ".", false).Expanded, "A + int(1)", "A + 1")
}

// A call ends at its deadline though the type checker goes on.
func TestMacroexpandDeadline(t *testing.T) {
	t.Parallel()
	b := fresh(t, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"m.go":   "package m\n\ntype Pair[A, B any] struct {\n\tA A\n\tB B\n}\n\nfunc Twice[T any](v T) (p Pair[T, T]) { return }\n",
	})
	twice := func(n int) macroexpandIn {
		return macroexpandIn{Form: strings.Repeat("Twice(", n) + "1" + strings.Repeat(")", n), Package: "."}
	}
	const want = "Twice[Pair[int, int]](Twice[int](int(1)))"
	assert.Equal(t, b.expansionOf(t, twice(2).Form, ".", false).Expanded, want)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.call(t, ctx, "macroexpand_form", twice(16)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a form that takes long: %v", err)
	}
	assert.Equalf(t, b.expansionOf(t, "1", ".", false).Expanded, "1", "the next form")
}
