package tools

import (
	"strings"
	"testing"
)

func (b *bench) arglistOf(t testing.TB, function, pkg string) arglist {
	t.Helper()
	return decode[arglist](t, b, "function_arglist", arglistIn{Function: function, Package: pkg})
}

func TestArglist(t *testing.T) {
	t.Parallel()
	shop := sharedShop(t)
	for name, c := range map[string]struct {
		function string
		want     arglist
	}{
		"generic function": {"Sum", arglist{
			Name: "Sum", Kind: "func", Package: goodsPath, Signature: "func Sum[S ~[]E, E Number](values S) (total E)",
			TypeParameters: []typeParam{{"S", "~[]E"}, {"E", "Number"}},
			Parameters:     []parameter{{Name: "values", Type: "S"}}, Results: []parameter{{Name: "total", Type: "E"}},
		}},
		"method of a generic type": {"Pair.Swap", arglist{
			Name: "Pair.Swap", Kind: "method", Package: goodsPath, Signature: "func (p Pair[K, V]) Swap(f func(V) K)",
			Receiver:   &receiver{Name: "p", Type: "Pair[K, V]", TypeParameters: []typeParam{{"K", "comparable"}, {"V", "any"}}},
			Parameters: []parameter{{Name: "f", Type: "func(V) K"}}, Results: []parameter{},
		}},
		"method promoted from an instance": {"Ints.Push", arglist{
			Name: "Ints.Push", Kind: "method", Package: goodsPath, Signature: "func (l *List[int]) Push(v int)",
			Receiver:   &receiver{Name: "l", Type: "*List[int]", Pointer: true},
			Parameters: []parameter{{Name: "v", Type: "int"}}, Results: []parameter{},
		}},
		"method of an interface": {"Seller.Sell", arglist{
			Name: "Seller.Sell", Kind: "method", Package: goodsPath, Signature: "func (Seller) Sell(i *Item) (ok bool, err error)",
			Receiver:   &receiver{Type: "Seller"},
			Parameters: []parameter{{Name: "i", Type: "*Item"}}, Results: []parameter{{Name: "ok", Type: "bool"}, {Name: "err", Type: "error"}},
		}},
		"variadic": {"fmt.Fprintf", arglist{
			Name: "Fprintf", Kind: "func", Package: "fmt", Signature: "func Fprintf(w io.Writer, format string, a ...any) (n int, err error)",
			Parameters: []parameter{{Name: "w", Type: "io.Writer"}, {Name: "format", Type: "string"}, {Name: "a", Type: "any", Variadic: true}},
			Results:    []parameter{{Name: "n", Type: "int"}, {Name: "err", Type: "error"}},
		}},
		"function type": {"iter.Seq", arglist{
			Name: "Seq", Kind: "type", Package: "iter", Signature: "type Seq[V any] func(yield func(V) bool)",
			TypeParameters: []typeParam{{"V", "any"}},
			Parameters:     []parameter{{Name: "yield", Type: "func(V) bool"}}, Results: []parameter{},
		}},
		"field": {"http.Client.CheckRedirect", arglist{
			Name: "Client.CheckRedirect", Kind: "field", Package: "net/http", Signature: "CheckRedirect func(req *Request, via []*Request) error",
			Parameters: []parameter{{Name: "req", Type: "*Request"}, {Name: "via", Type: "[]*Request"}}, Results: []parameter{{Type: "error"}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			equal(t, shop.arglistOf(t, c.function, ""), c.want)
		})
	}
	if got := shop.arglistOf(t, "Fine.Wrong", "broken"); len(got.Errors) != 3 || got.Receiver.Type != "Fine" {
		t.Errorf("in a package that does not compile: %+v", got)
	}
}

func TestArglistFails(t *testing.T) {
	t.Parallel()
	shop := sharedShop(t)
	for function, want := range map[string]string{
		"Item":          "example.com/shop/goods.Item is a struct type, not a function; describe_symbol tells more of it",
		"Names":         "example.com/shop/goods.Names is a var of type map[string][]Color, not a function",
		"unsafe.Sizeof": "unsafe.Sizeof is built into the compiler, not a function",
		"Smu":           `there is no symbol "Smu" in the workspace; did you mean goods.Sum`,
		"Coin":          "symbol Coin is ambiguous: it can be example.com/shop/a/money.Coin, example.com/shop/b/money.Coin",
	} {
		if got := shop.failing(t, "function_arglist", arglistIn{Function: function}); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s\nwant %s", function, got, want)
		}
	}
}
