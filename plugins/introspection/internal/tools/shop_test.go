package tools

import "strings"

// shop is a small module with one of everything. It has no dependencies, so
// that tests need no network.
var shop = map[string]string{
	"go.mod": "module example.com/shop\n\ngo 1.26\n",

	"shop.go": `// Package shop sells things. It is the root package.
package shop

// Open says whether the shop is open.
var Open bool
`,

	"goods/goods.go": `// Package goods has what is sold. There is more to say about it.
package goods

import "fmt"

// Colors that goods come in.
const (
	Red Color = iota + 1
	Green
	// Blue is the last one.
	Blue
	Yellow // Yellow stands behind.
)

// Color is a color.
type Color uint8

// String names the color.
func (c Color) String() string { return fmt.Sprint(uint8(c)) }

const (
	Third    = 1.0 / 3
	Quarter  = 0.25
	Huge     = 1 << 500
	Greeting = "hi \"you\""
	Letter   = 'a'
	Yes      = true
	Imaginary = 1 + 2i
)

// Limits on an order.
var (
	Most, Least int = 10, 1
	// Names is filled while running.
	Names map[string][]Color
)

// Base counts.
type Base struct {
	// Count is how many.
	Count int ` + "`json:\"count\"`" + `
	note  string // note is private.
}

// Add counts up.
func (b *Base) Add(n int) { b.Count += n }

// Total is the count.
func (b Base) Total() int { return b.Count }

func (b *Base) hidden() {}

// Middle has a Base.
type Middle struct {
	*Base
	Size int8
}

// Item has all of them.
type Item struct {
	Middle
	fmt.Stringer
	Price float64
}

// Total hides what Base has.
func (i *Item) Total() int { return 0 }

// Also is another name for Item.
type Also = Item

// Pairs is a generic alias.
type Pairs[V any] = map[string]V

// Seller sells.
type Seller interface {
	fmt.Stringer
	// Sell takes an item away.
	Sell(i *Item) (ok bool, err error)
}

type unexported struct{ X int }

type left struct{ Twice int }

type right struct{ Twice int }

type both struct {
	left
	right
}

var _ = 1

func init() {}
`,
	"goods/long.go": "package goods\n\nconst Long = \"" + strings.Repeat("x", 5000) + "\"\n\nconst Giant = 1e100000000\n\nconst Far = 1e1000\n",

	"goods/generic.go": `package goods

// Number is what can be summed.
type Number interface{ ~int | ~float64 }

// List is a linked list.
type List[T any] struct {
	head *node[T]
	n    int
}

type node[T any] struct{ next *node[T] }

// Pair holds its values.
type Pair[K comparable, V any] struct {
	Key   K
	Value V
}

// Push puts a value in front.
func (l *List[T]) Push(v T) {}

// Swap turns a pair around.
func (p Pair[K, V]) Swap(f func(V) K) {}

// Sum adds up.
func Sum[S ~[]E, E Number](values S) (total E) { return }

// Map maps.
func Map[T, U any](in []T, f func(T) U) []U { return nil }

// Ints embeds an instance.
type Ints struct{ List[int] }
`,

	"a/money/money.go": `// Package money is the first of its name.
package money

import "example.com/shop/goods"

// Coin is a coin.
type Coin struct{ goods.Base }

// Only here.
func Dollars() int { return 1 }
`,
	"b/money/money.go": `package money

type Coin struct{ Cents int }

func Euros() int { return 2 }
`,

	"broken/broken.go": `// Package broken does not compile.
package broken

import "example.com/nowhere/x"

// Fine is fine.
type Fine struct{ A, B int32 }

// Bad has a field of no type.
type Bad struct{ X Undefined }

func (f Fine) Wrong() int { return "no" }

var _ = x.Y
`,

	"cmd/till/main.go": `// Command till is the till.
package main

func main() { run() }

// run runs.
func run() {}
`,

	"only/only_test.go":       "package only\n",
	"tagged/tagged.go":        "//go:build never\n\npackage tagged\n",
	"goods/goods_test.go":     "package goods\n\nfunc InTest() {}\n",
	"goods/other_plan9.go":    "package goods\n\nfunc OnPlan9() {}\n",
	"testdata/stray/stray.go": "// Package stray is not part of the module's packages.\npackage stray\n\nconst S = 1\n",
}
