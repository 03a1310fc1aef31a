package tools

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestList(t *testing.T) {
	t.Parallel()
	got := sharedShop(t).listingOf(t, "goods", false)
	if got.Package != goodsPath || got.Name != "goods" || got.Synopsis != "Package goods has what is sold." || got.Errors != nil {
		t.Errorf("the package is %+v", got)
	}
	equal(t, got.Constants[0], "const Blue Color = 3 // Blue is the last one.")
	equal(t, got.Constants[10], "const Red Color = 1 // Colors that goods come in.")
	equal(t, names(got.Constants), []string{"Blue", "Far", "Giant", "Green", "Greeting", "Huge", "Imaginary", "Letter", "Long", "Quarter", "Red", "Third", "Yellow", "Yes"})
	equal(t, got.Variables, []string{
		"var Least int // Limits on an order.", "var Most int // Limits on an order.",
		"var Names map[string][]Color // Names is filled while running.",
	})
	equal(t, got.Functions, []string{
		"func Map[T, U any](in []T, f func(T) U) []U // Map maps.",
		"func Sum[S ~[]E, E Number](values S) (total E) // Sum adds up.",
	})
	equal(t, got.Types, []listedType{
		{Type: "type Also = Item // Also is another name for Item."},
		{Type: "type Base struct // Base counts.", Methods: []string{
			"func (b *Base) Add(n int) // Add counts up.", "func (b Base) Total() int // Total is the count.",
		}},
		{Type: "type Color uint8 // Color is a color.", Methods: []string{
			"func (c Color) String() string // String names the color.",
		}},
		{Type: "type Ints struct // Ints embeds an instance."},
		{Type: "type Item struct // Item has all of them.", Methods: []string{
			"func (i *Item) Total() int // Total hides what Base has.",
		}},
		{Type: "type List[T any] struct // List is a linked list.", Methods: []string{
			"func (l *List[T]) Push(v T) // Push puts a value in front.",
		}},
		{Type: "type Middle struct // Middle has a Base."},
		{Type: "type Number interface // Number is what can be summed."},
		{Type: "type Pair[K comparable, V any] struct // Pair holds its values.", Methods: []string{
			"func (p Pair[K, V]) Swap(f func(V) K) // Swap turns a pair around.",
		}},
		{Type: "type Pairs[V any] = map[string]V // Pairs is a generic alias."},
		{Type: "type Seller interface // Seller sells.", Methods: []string{
			"func (Seller) Sell(i *Item) (ok bool, err error) // Sell takes an item away.",
		}},
	})
	equal(t, got.Total, len(got.Constants)+3+2+11+7)
	equal(t, []any{got.InTests, got.External, got.LeftOut}, []any{1, "", "1 file is left out by build constraints (goods/other_plan9.go); goos or tags can include them"})
}

// names returns what declarations declare.
func names(declarations []string) []string {
	var out []string
	for _, d := range declarations {
		d = strings.SplitN(receiverOf.ReplaceAllString(d, "func "), " ", 3)[1]
		out = append(out, strings.FieldsFunc(d, func(r rune) bool { return strings.ContainsRune("([", r) })[0])
	}
	return out
}

var receiverOf = regexp.MustCompile(`^func \([^)]*\) `)

func (l listing) typeOf(name string) listedType {
	for _, t := range l.Types {
		if names([]string{t.Type})[0] == name {
			return t
		}
	}
	return listedType{}
}

func TestListInternal(t *testing.T) {
	t.Parallel()
	got := sharedShop(t).listingOf(t, "./goods", true)
	equal(t, got.typeOf("unexported").Type, "type unexported struct")
	equal(t, names(got.typeOf("Base").Methods), []string{"Add", "Total", "hidden"})
	with := decode[listing](t, sharedShop(t), "list_package_symbols", listIn{Package: "goods", Fields: true})
	equal(t, with.typeOf("Base").Fields, []string{"Count int // Count is how many."})
}

// The test files of a package are listed if they are asked for.
func TestListTests(t *testing.T) {
	t.Parallel()
	b := shared(t, tested)
	got := b.listingOf(t, ".", true)
	if got.InTests != 7 || got.External != "example.com/tested_test" || len(got.Functions) != 0 {
		t.Errorf("the package is %+v", got)
	}
	got = decode[listing](t, b, "list_package_symbols", listIn{Package: "tested", Tests: true, IncludeInternal: true})
	equal(t, names(got.Functions), []string{"TestSave", "helper"})
	equal(t, got.typeOf("Item").Methods, []string{"func (i Item) Upper() string // Upper is only for tests."})
	equal(t, names(b.listingOf(t, "tested_test", true).Functions), []string{"TestOut", "outside"})
}

// The parts of a long answer are the whole, each symbol once.
func TestListParts(t *testing.T) {
	t.Parallel()
	shop := sharedShop(t)
	all := map[string]int{}
	var offset, parts int
	for {
		got := decode[listing](t, shop, "list_package_symbols", listIn{Package: "net/http", page: page{Offset: offset, Limit: 80}})
		count := len(got.Constants) + len(got.Variables) + len(got.Functions)
		for _, d := range slices.Concat(got.Constants, got.Variables, got.Functions) {
			all[d]++
		}
		for _, l := range got.Types {
			all[l.Type]++
			for _, m := range l.Methods {
				all[m]++
			}
			count += len(l.Methods)
		}
		if parts++; got.NextOffset == 0 {
			if len(all) != got.Total || parts < 3 {
				t.Errorf("%d parts have %d different symbols of %d", parts, len(all), got.Total)
			}
			return
		}
		if got.NextOffset != offset+80 || got.Omitted != got.Total-got.NextOffset {
			t.Fatalf("after %d symbols from %d: next %d, %d left out of %d", count, offset, got.NextOffset, got.Omitted, got.Total)
		}
		offset = got.NextOffset
	}
}

// No answer is null where a list is promised.
func TestListEmptyGroups(t *testing.T) {
	t.Parallel()
	got := sharedShop(t).listingOf(t, "example.com/shop/cmd/till", false)
	equal(t, got, listing{
		Package: "example.com/shop/cmd/till", Name: "main", Synopsis: "Command till is the till.",
		Constants: []string{}, Variables: []string{}, Functions: []string{}, Types: []listedType{},
	})
}

func TestListStd(t *testing.T) {
	t.Parallel()
	got := sharedShop(t).listingOf(t, "sort", false)
	if len(got.Types) < 4 || len(got.Functions) < 15 || got.Synopsis == "" {
		t.Errorf("sort is %+v", got)
	}
	// More constants than one answer should have.
	calls := sharedShop(t).listingOf(t, "syscall", false)
	if calls.NextOffset != len(calls.Constants) || calls.Omitted != calls.Total-calls.NextOffset || encodedSize(calls) > maxAnswer+2048 {
		t.Errorf("%d constants and %d symbols left out", len(calls.Constants), calls.Omitted)
	}
}

func TestListBroken(t *testing.T) {
	t.Parallel()
	got := sharedShop(t).listingOf(t, "broken", false)
	if len(got.Errors) != 3 || len(got.Types) != 2 {
		t.Errorf("broken is %+v", got)
	}
}
