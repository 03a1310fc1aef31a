package tools

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func (b *bench) hierarchyOf(t testing.TB, class, pkg string) hierarchy {
	t.Helper()
	return decode[hierarchy](t, b, "class_hierarchy", hierarchyIn{Class: class, Package: pkg})
}

// brief writes relatives as name, with * where a pointer is meant.
func brief(list []relative) []string {
	out := []string{}
	for _, r := range list {
		name := r.Package[strings.LastIndex(r.Package, "/")+1:] + "." + r.Name
		if r.Pointer {
			name = "*" + name
		}
		out = append(out, name)
	}
	return out
}

func TestHierarchy(t *testing.T) {
	t.Parallel()
	shop := sharedShop(t)
	item := shop.hierarchyOf(t, "Item", "")
	if item.Name != "Item" || item.Kind != "struct" || item.Package != goodsPath {
		t.Errorf("Item is %+v", item)
	}
	equal(t, item.Embeds, []embedding{
		{Type: "Middle", Kind: "struct", Package: goodsPath, Path: "Middle"},
		{Type: "*Base", Kind: "struct", Package: goodsPath, Path: "Middle.Base"},
		{Type: "fmt.Stringer", Kind: "interface", Package: "fmt", Path: "Stringer"},
	})
	equal(t, brief(item.Satisfies), []string{"fmt.Stringer"})
	equal(t, item.ImplementedBy, []relative{})

	base := shop.hierarchyOf(t, "Base", "goods")
	equal(t, base.EmbeddedBy, []relative{
		{Name: "Coin", Kind: "struct", Package: "example.com/shop/a/money", Position: "a/money/money.go:7:6"},
		{Name: "Middle", Kind: "struct", Package: goodsPath, Position: "goods/goods.go:54:6", Pointer: true},
	})
	equal(t, brief(shop.hierarchyOf(t, "List", "").EmbeddedBy), []string{"goods.Ints"})

	seller := shop.hierarchyOf(t, "Seller", "")
	equal(t, seller.Embeds, []embedding{{Type: "fmt.Stringer", Kind: "interface", Package: "fmt", Path: "Stringer"}})
	equal(t, brief(seller.Satisfies), []string{"fmt.Stringer"})

	stringer := shop.hierarchyOf(t, "fmt.Stringer", "")
	equal(t, brief(stringer.ImplementedBy), []string{"goods.Color", "goods.Item", "goods.Seller"})
	equal(t, brief(stringer.EmbeddedBy), []string{"goods.Item", "goods.Seller"})

	number := shop.hierarchyOf(t, "Number", "")
	equal(t, number.Satisfies, []relative{})
	if len(number.Embeds) != 1 || number.Embeds[0].Type != "~int | ~float64" {
		t.Errorf("Number embeds %+v", number.Embeds)
	}
	equal(t, shop.hierarchyOf(t, "Also", "").Embeds, item.Embeds)
}

// zoo has interfaces and types that satisfy them, in several packages.
var zoo = map[string]string{
	"go.mod": "module example.com/zoo\n\ngo 1.26\n",
	"kind/kind.go": `package kind

// Animal eats.
type Animal interface{ Eat(food Food) error }

type Food struct{}

type Source[T any] interface {
	Next() (T, bool)
	All() []T
}

type hungry interface{ Animal; Hungry() bool }

type Float interface{ ~float32 | ~float64 }
`,
	"cat/cat.go": `package cat

import (
	"errors"
	"io"
	"sort"

	k "example.com/zoo/kind"
)

var (
	_ io.Reader
	_ sort.Interface
	_ = errors.New
)

type Cat struct{}

func (*Cat) Eat(food k.Food) error { return nil }

func (*Cat) Hungry() bool { return true }

type tame struct{ Cat }

type byAge []int

func (b byAge) Len() int           { return len(b) }
func (b byAge) Less(i, j int) bool { return b[i] < b[j] }
func (b byAge) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }

type Stream[E any] struct{}

func (Stream[E]) Next() (e E, ok bool) { return }
func (Stream[E]) All() []E             { return nil }

type Names struct{}

func (Names) Next() (string, bool) { return "", false }
func (Names) All() []string        { return nil }

type Mixed struct{}

func (Mixed) Next() (string, bool) { return "", false }
func (Mixed) All() []int           { return nil }

type NoFood struct{ cause error }

func (NoFood) Error() string   { return "no food" }
func (n NoFood) Unwrap() error { return n.cause }

type Weight float64

type Pipe struct {
	io.Reader
	*Cat
}
`,
}

func TestHierarchyAcrossPackages(t *testing.T) {
	t.Parallel()
	b := shared(t, zoo)
	animal := b.hierarchyOf(t, "Animal", "")
	equal(t, brief(animal.ImplementedBy), []string{"*cat.Cat", "cat.Pipe", "*cat.tame", "kind.hungry"})
	equal(t, animal.ImplementedBy[0].Position, "cat/cat.go:17:6")
	equal(t, brief(animal.EmbeddedBy), []string{"kind.hungry"})
	equal(t, brief(b.hierarchyOf(t, "Cat", "").Satisfies), []string{"*kind.Animal", "*kind.hungry"})
	equal(t, brief(b.hierarchyOf(t, "Cat", "").EmbeddedBy), []string{"*cat.Pipe", "cat.tame"})
	equal(t, brief(b.hierarchyOf(t, "byAge", "").Satisfies), []string{"sort.Interface"})
	equal(t, brief(b.hierarchyOf(t, "NoFood", "").Satisfies), []string{".error"})
	equal(t, brief(b.hierarchyOf(t, "Pipe", "").Satisfies), []string{"kind.Animal", "kind.hungry", "io.Reader"})
	// The type arguments of a generic interface are those that fit all methods.
	equal(t, brief(b.hierarchyOf(t, "Names", "").Satisfies), []string{"kind.Source[string]"})
	equal(t, brief(b.hierarchyOf(t, "Stream", "").Satisfies), []string{"kind.Source[E]"})
	equal(t, brief(b.hierarchyOf(t, "Mixed", "").Satisfies), []string{})
	equal(t, brief(b.hierarchyOf(t, "Source", "").ImplementedBy), []string{"cat.Names", "cat.Stream"})
	equal(t, brief(b.hierarchyOf(t, "Float", "").ImplementedBy), []string{"cat.Weight"})
	equal(t, brief(b.hierarchyOf(t, "error", "").ImplementedBy), []string{"cat.NoFood"})
	// A package that nothing imports.
	if got := b.hierarchyOf(t, "flag.Value", ""); len(got.EmbeddedBy) != 1 || got.ImplementedBy[0].Name != "Getter" || !strings.HasPrefix(got.ImplementedBy[0].Position, "flag/flag.go:") {
		t.Errorf("flag.Value is %+v", got)
	}
	// A type that export data does not have.
	equal(t, brief(b.hierarchyOf(t, "flag.boolFlag", "").Satisfies), []string{"flag.Value", "fmt.Stringer"})

	// Edits of both sides are seen.
	b.edit(t, "kind/kind.go", strings.Replace(zoo["kind/kind.go"], "Eat(food Food) error", "Eat(food Food, now bool) error", 1), time.Second)
	equal(t, brief(b.hierarchyOf(t, "Animal", "").ImplementedBy), []string{"kind.hungry"})
	b.edit(t, "kind/kind.go", zoo["kind/kind.go"], 2*time.Second)
	b.edit(t, "dog/dog.go", "package dog\n\nimport \"example.com/zoo/kind\"\n\ntype Dog int\n\nfunc (Dog) Eat(kind.Food) error { return nil }\n", time.Second)
	if got := brief(b.hierarchyOf(t, "Animal", "").ImplementedBy); !slices.Contains(got, "dog.Dog") {
		t.Errorf("after a new package animals are %v", got)
	}
	// What does not compile does not take the rest with it.
	b.edit(t, "dog/dog.go", "package dog\n\nimport \"example.com/zoo/kind\"\n\ntype Dog int\n\nfunc (Dog) Eat(kind.Food) error { return nil }\n\nvar X Nothing\n", 2*time.Second)
	got := b.hierarchyOf(t, "Animal", "")
	if !slices.Contains(brief(got.ImplementedBy), "dog.Dog") || !slices.Equal(got.Errors, []string{"dog/dog.go:9:7: undefined: Nothing"}) {
		t.Errorf("with a package that does not compile: %+v", got)
	}
}

// A package that "./..." does not match is compared with those that it does.
func TestHierarchyOfUnlistedPackage(t *testing.T) {
	t.Parallel()
	b := fresh(t, map[string]string{
		"go.mod":          "module example.com/m\n\ngo 1.26\n",
		"a/a.go":          "package a\n\ntype Closer interface{ Close() error }\n\ntype Base struct{}\n\nfunc (Base) Close() error { return nil }\n",
		"testdata/x/x.go": "package x\n\nimport (\n\t\"text/tabwriter\"\n\n\t\"example.com/m/a\"\n)\n\ntype X struct {\n\ta.Base\n\t*tabwriter.Writer\n}\n",
	})
	got := b.hierarchyOf(t, "X", "./testdata/x")
	equal(t, brief(got.Satisfies), []string{"a.Closer"})
	equal(t, brief(got.EmbeddedBy), []string{})
	if len(got.Embeds) != 2 || got.Embeds[1].Package != "text/tabwriter" || got.Errors != nil {
		t.Errorf("X is %+v", got)
	}
	// The workspace is as it was.
	equal(t, brief(b.hierarchyOf(t, "Base", "").EmbeddedBy), []string{})
}

func TestHierarchyFails(t *testing.T) {
	t.Parallel()
	shop := sharedShop(t)
	for class, want := range map[string]string{
		"Sum":    "example.com/shop/goods.Sum is a func of type func[S ~[]E, E Number](values S) (total E), not a type",
		"Selelr": `there is no symbol "Selelr" in the workspace; did you mean goods.Seller`,
		"Coin":   "symbol Coin is ambiguous",
		"any":    "any is predeclared by the language",
	} {
		if got := shop.failing(t, "class_hierarchy", hierarchyIn{Class: class}); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s\nwant %s", class, got, want)
		}
	}
}

func TestHierarchyWithoutModule(t *testing.T) {
	t.Parallel()
	b := fresh(t, map[string]string{"a.go": "package a\n"})
	if got := brief(b.hierarchyOf(t, "sort.Interface", "").ImplementedBy); !slices.Contains(got, "sort.IntSlice") {
		t.Errorf("sort.Interface is implemented by %v", got)
	}
}

// What a dependency or the standard library has is an implementation too.
func TestHierarchyOfDependencies(t *testing.T) {
	t.Parallel()
	b := fresh(t, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"m.go": "package m\n\nimport \"net/http\"\n\n// Doer is satisfied by a client.\ntype Doer interface {\n" +
			"\tDo(*http.Request) (*http.Response, error)\n}\n\ntype Idler interface{ CloseIdleConnections() }\n\n" +
			"// Half is satisfied by what net/http is built with.\ntype Half interface{ CloseWrite() error }\n",
	})
	got := decode[hierarchy](t, b, "class_hierarchy", hierarchyIn{Class: "Doer"})
	if len(got.ImplementedBy) != 1 || got.ImplementedBy[0].Package != "net/http" || got.ImplementedBy[0].Name != "Client" ||
		!got.ImplementedBy[0].Pointer || !strings.HasPrefix(got.ImplementedBy[0].Position, "net/http/client.go:") {
		t.Errorf("Doer is implemented by %+v", got.ImplementedBy)
	}
	got = decode[hierarchy](t, b, "class_hierarchy", hierarchyIn{Class: "Idler"})
	if len(got.ImplementedBy) < 2 {
		t.Errorf("Idler is implemented by %+v", got.ImplementedBy)
	}
	var names []string
	for _, r := range b.hierarchyOf(t, "Half", "").ImplementedBy {
		names = append(names, r.Package+"."+r.Name)
	}
	for _, want := range []string{"crypto/tls.Conn", "net.TCPConn", "net.UnixConn"} {
		if !slices.Contains(names, want) {
			t.Errorf("Half is implemented by %v, without %s", names, want)
		}
	}
}
