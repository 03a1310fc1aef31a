package tools

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/plugins/introspection/internal/typeutil"
)

func equal(t *testing.T, got, want any) {
	t.Helper()
	if reflect.DeepEqual(got, want) {
		return
	}
	g, _ := json.MarshalIndent(got, "", " ")
	w, _ := json.MarshalIndent(want, "", " ")
	t.Errorf("got %s\nwant %s", g, w)
}

func octets(n int64) *int64 { return &n }

const goodsPath = "example.com/shop/goods"

func TestDescribe(t *testing.T) {
	t.Parallel()
	shop := sharedShop(t)
	for name, c := range map[string]struct {
		symbol, pkg string
		want        description
	}{
		"constant of a group": {"Red", "", description{
			Name: "Red", Kind: "const", Package: goodsPath, Signature: "const Red Color = 1", Type: "Color",
			Doc: "Colors that goods come in.", Position: "goods/goods.go:8:2", Value: "1",
		}},
		"iota without an expression": {"goods.Green", "", description{
			Name: "Green", Kind: "const", Package: goodsPath, Signature: "const Green Color = 2", Type: "Color",
			Doc: "Colors that goods come in.", Position: "goods/goods.go:9:2", Value: "2",
		}},
		"constant with a comment of its own": {"shop/goods.Blue", "", description{
			Name: "Blue", Kind: "const", Package: goodsPath, Signature: "const Blue Color = 3", Type: "Color",
			Doc: "Blue is the last one.", Position: "goods/goods.go:11:2", Value: "3",
		}},
		"constant with a remark behind": {"Yellow", "./goods", description{
			Name: "Yellow", Kind: "const", Package: goodsPath, Signature: "const Yellow Color = 4", Type: "Color",
			Doc: "Yellow stands behind.", Position: "goods/goods.go:12:2", Value: "4",
		}},
		"string": {"Greeting", "", description{
			Name: "Greeting", Kind: "const", Package: goodsPath, Signature: `const Greeting = "hi \"you\""`,
			Type: "untyped string", Position: "goods/goods.go:25:2", Value: `"hi \"you\""`,
		}},
		"variable of a group": {"Least", "", description{
			Name: "Least", Kind: "var", Package: goodsPath, Signature: "var Least int", Type: "int",
			Doc: "Limits on an order.", Position: "goods/goods.go:33:8",
		}},
		"variable": {"Names", "goods", description{
			Name: "Names", Kind: "var", Package: goodsPath, Signature: "var Names map[string][]Color", Type: "map[string][]Color",
			Doc: "Names is filled while running.", Position: "goods/goods.go:35:2",
		}},
		"method": {"Base.Add", "", description{
			Name: "Base.Add", Kind: "method", Package: goodsPath, Signature: "func (b *Base) Add(n int)", Type: "func(n int)",
			Doc: "Add counts up.", Position: "goods/goods.go:46:16",
		}},
		"method as Go writes it": {"(*example.com/shop/goods.Base).Add", "", description{
			Name: "Base.Add", Kind: "method", Package: goodsPath, Signature: "func (b *Base) Add(n int)", Type: "func(n int)",
			Doc: "Add counts up.", Position: "goods/goods.go:46:16",
		}},
		"method promoted twice": {"Item.Add", "", description{
			Name: "Item.Add", Kind: "method", Package: goodsPath, Signature: "func (b *Base) Add(n int)", Type: "func(n int)",
			Doc: "Add counts up.", Position: "goods/goods.go:46:16", PromotedFrom: "Base",
		}},
		"method promoted from another package": {"money.Coin.Total", "", description{
			Name: "Coin.Total", Kind: "method", Package: "example.com/shop/a/money", Signature: "func (b goods.Base) Total() int",
			Type: "func() int", Doc: "Total is the count.", Position: "goods/goods.go:49:15", PromotedFrom: "goods.Base",
		}},
		"method of an alias": {"Also.Total", "", description{
			Name: "Also.Total", Kind: "method", Package: goodsPath, Signature: "func (i *Item) Total() int", Type: "func() int",
			Doc: "Total hides what Base has.", Position: "goods/goods.go:67:16",
		}},
		"field": {"Base.Count", "", description{
			Name: "Base.Count", Kind: "field", Package: goodsPath, Signature: "Count int `json:\"count\"`", Type: "int",
			Doc: "Count is how many.", Position: "goods/goods.go:41:2",
		}},
		"field promoted twice": {"Item.Count", "", description{
			Name: "Item.Count", Kind: "field", Package: goodsPath, Signature: "Count int `json:\"count\"`", Type: "int",
			Doc: "Count is how many.", Position: "goods/goods.go:41:2", PromotedFrom: "Base",
		}},
		"embedded field": {"Middle.Base", "", description{
			Name: "Middle.Base", Kind: "field", Package: goodsPath, Signature: "Base *Base", Type: "*Base",
			Position: "goods/goods.go:55:3",
		}},
		"generic function": {"Sum", "", description{
			Name: "Sum", Kind: "func", Package: goodsPath, Signature: "func Sum[S ~[]E, E Number](values S) (total E)",
			Type: "func[S ~[]E, E Number](values S) (total E)", Doc: "Sum adds up.", Position: "goods/generic.go:27:6",
		}},
		"generic function of a group": {"Map", "goods", description{
			Name: "Map", Kind: "func", Package: goodsPath, Signature: "func Map[T, U any](in []T, f func(T) U) []U",
			Type: "func[T, U any](in []T, f func(T) U) []U", Doc: "Map maps.", Position: "goods/generic.go:30:6",
		}},
		"method of an instance": {"Ints.Push", "", description{
			Name: "Ints.Push", Kind: "method", Package: goodsPath, Signature: "func (l *List[int]) Push(v int)", Type: "func(v int)",
			Doc: "Push puts a value in front.", Position: "goods/generic.go:21:19", PromotedFrom: "List[int]",
		}},
		"in a main package": {"run", "./cmd/till", description{
			Name: "run", Kind: "func", Package: "example.com/shop/cmd/till", Signature: "func run()", Type: "func()",
			Doc: "run runs.", Position: "cmd/till/main.go:7:6",
		}},
		"in the root package": {"Open", ".", description{
			Name: "Open", Kind: "var", Package: "example.com/shop", Signature: "var Open bool", Type: "bool",
			Doc: "Open says whether the shop is open.", Position: "shop.go:5:5",
		}},
		"in a package that the module does not list": {"S", "./testdata/stray", description{
			Name: "S", Kind: "const", Package: "example.com/shop/testdata/stray", Signature: "const S = 1", Type: "untyped int",
			Position: "testdata/stray/stray.go:4:7", Value: "1",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			equal(t, shop.symbolOf(t, c.symbol, c.pkg), c.want)
		})
	}
}

func TestDescribeTypes(t *testing.T) {
	t.Parallel()
	shop := sharedShop(t)
	for name, c := range map[string]struct {
		symbol string
		want   description
	}{
		"basic": {"Color", description{
			Name: "Color", Kind: "type", TypeKind: "basic", Package: goodsPath, Signature: "type Color uint8", Type: "uint8",
			Doc: "Color is a color.", Position: "goods/goods.go:16:6", Size: octets(1), Align: octets(1),
			Methods: []string{"func (c Color) String() string"},
		}},
		"embedding twice": {"Item", description{
			Name: "Item", Kind: "type", TypeKind: "struct", Package: goodsPath, Signature: "type Item struct",
			Type: "struct{Middle; fmt.Stringer; Price float64}", Doc: "Item has all of them.",
			Position: "goods/goods.go:60:6", Size: octets(40), Align: octets(8),
			Methods: []string{
				"func (b *Base) Add(n int) // promoted from Base",
				"func (fmt.Stringer) String() string // promoted from fmt.Stringer",
				"func (i *Item) Total() int",
				"func (b *Base) hidden() // promoted from Base",
			},
		}},
		"interface": {"Seller", description{
			Name: "Seller", Kind: "type", TypeKind: "interface", Package: goodsPath, Signature: "type Seller interface",
			Type: "interface{Sell(i *Item) (ok bool, err error); fmt.Stringer}", Doc: "Seller sells.",
			Position: "goods/goods.go:76:6", Size: octets(16), Align: octets(8),
			Methods: []string{
				"func (Seller) Sell(i *Item) (ok bool, err error)",
				"func (fmt.Stringer) String() string // promoted from fmt.Stringer",
			},
		}},
		"generic alias": {"Pairs", description{
			Name: "Pairs", Kind: "type", TypeKind: "map", Package: goodsPath, Signature: "type Pairs[V any] = map[string]V",
			Type: "map[string]V", Alias: true, Doc: "Pairs is a generic alias.", Position: "goods/goods.go:73:6",
			Size: octets(8), Align: octets(8),
		}},
		"generic of known size": {"List", description{
			Name: "List", Kind: "type", TypeKind: "struct", Package: goodsPath, Signature: "type List[T any] struct",
			Type: "struct{head *node[T]; n int}", Doc: "List is a linked list.", Position: "goods/generic.go:7:6",
			Size: octets(16), Align: octets(8),
			Methods: []string{"func (l *List[T]) Push(v T)"},
		}},
		"generic of unknown size": {"Pair", description{
			Name: "Pair", Kind: "type", TypeKind: "struct", Package: goodsPath, Signature: "type Pair[K comparable, V any] struct",
			Type: "struct{Key K; Value V}", Doc: "Pair holds its values.", Position: "goods/generic.go:15:6",
			Methods: []string{"func (p Pair[K, V]) Swap(f func(V) K)"},
		}},
		"constraint": {"Number", description{
			Name: "Number", Kind: "type", TypeKind: "interface", Package: goodsPath, Signature: "type Number interface",
			Type: "interface{~int | ~float64}", Doc: "Number is what can be summed.", Position: "goods/generic.go:4:6",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			equal(t, shop.symbolOf(t, c.symbol, ""), c.want)
		})
	}
}

func TestDescribeAlias(t *testing.T) {
	t.Parallel()
	shop := sharedShop(t)
	item, also := shop.symbolOf(t, "Item", ""), shop.symbolOf(t, "Also", "")
	if also.Signature != "type Also = Item" || also.Type != "Item" || !also.Alias || also.TypeKind != "struct" {
		t.Errorf("the alias is described as %+v", also)
	}
	equal(t, also.Methods, item.Methods)
	equal(t, also.Size, item.Size)
}

func TestConstantValues(t *testing.T) {
	t.Parallel()
	shop := sharedShop(t)
	for name, want := range map[string]string{
		"Third": "1/3", "Quarter": "0.25", "Letter": "97", "Yes": "true", "Imaginary": "(1 + 2i)",
		"math.Pi": "3.14159265358979323846264338327950288419716939937510582097494459", "math.MaxInt64": "9223372036854775807",
		"math.SmallestNonzeroFloat64": "4.9406564584124654418e-324 (rounded)", "time.Second": "1000000000",
		"Giant": "1e+100000000 (rounded)", "Far": "1e+1000 (rounded)",
	} {
		assert.Equalf(t, shop.symbolOf(t, name, "").Value, want, "%s", name)
	}
	huge := shop.symbolOf(t, "Huge", "")
	if len(huge.Value) != 151 || !strings.HasPrefix(huge.Value, "3273390607896141870013189") {
		t.Errorf("Huge is %s", huge.Value)
	}
	if len(huge.Signature) > 150 || !strings.HasSuffix(huge.Signature, "… (151 bytes)") {
		t.Errorf("the signature of Huge is %s", huge.Signature)
	}
	long := shop.symbolOf(t, "Long", "").Value
	if len(long) > typeutil.MaxValue+50 || !strings.HasSuffix(long, "x… (5002 bytes)") {
		t.Errorf("Long is %s", long)
	}
}

// What the standard library's symbols are is known to everybody; exact lines
// change with every release.
func TestDescribeStd(t *testing.T) {
	t.Parallel()
	shop := sharedShop(t)
	line := shop.symbolOf(t, "fmt.Println", "")
	if line.Signature != "func Println(a ...any) (n int, err error)" || line.Package != "fmt" ||
		!strings.HasPrefix(line.Position, "fmt/print.go:") || !strings.HasPrefix(line.Doc, "Println formats") {
		t.Errorf("fmt.Println is %+v", line)
	}
	client := shop.symbolOf(t, "net/http.Client", "")
	equal(t, names(client.Methods), []string{"CloseIdleConnections", "Do", "Get", "Head", "Post", "PostForm"})
	if client.Size == nil || *client.Size == 0 || client.TypeKind != "struct" {
		t.Errorf("net/http.Client is %+v", client)
	}
	equal(t, shop.symbolOf(t, "http.Client.Do", ""), shop.symbolOf(t, "Client.Do", "net/http"))
	read := shop.symbolOf(t, "bufio.ReadWriter.ReadByte", "")
	if read.PromotedFrom != "Reader" || !strings.HasPrefix(read.Doc, "ReadByte reads") {
		t.Errorf("bufio.ReadWriter.ReadByte is %+v", read)
	}
	if got := shop.symbolOf(t, "http.Request.Header", ""); got.Kind != "field" || got.Type != "Header" || got.Doc == "" {
		t.Errorf("http.Request.Header is %+v", got)
	}
	if got := shop.symbolOf(t, "unsafe.Sizeof", ""); got.Kind != "builtin" {
		t.Errorf("unsafe.Sizeof is %+v", got)
	}
}

func TestDescribeBroken(t *testing.T) {
	t.Parallel()
	shop := sharedShop(t)
	errors := []string{
		"broken/broken.go:4:8: no required module provides package example.com/nowhere/x; to add it: go get example.com/nowhere/x",
		"broken/broken.go:10:20: undefined: Undefined",
		`broken/broken.go:12:36: cannot use "no" (untyped string constant) as int value in return statement`,
	}
	equal(t, shop.symbolOf(t, "Fine", ""), description{
		Name: "Fine", Kind: "type", TypeKind: "struct", Package: "example.com/shop/broken", Signature: "type Fine struct",
		Type: "struct{A int32; B int32}", Doc: "Fine is fine.", Position: "broken/broken.go:7:6", Size: octets(8), Align: octets(4),
		Methods: []string{"func (f Fine) Wrong() int"}, Errors: errors,
	})
	bad := shop.symbolOf(t, "broken.Bad", "")
	if bad.Size != nil || bad.Type != "struct{X invalid type}" {
		t.Errorf("broken.Bad is %+v", bad)
	}
}
