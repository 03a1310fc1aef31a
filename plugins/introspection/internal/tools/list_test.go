package tools

import (
	"slices"
	"testing"
)

func TestList(t *testing.T) {
	t.Parallel()
	got := sharedShop(t).listingOf(t, "goods", false)
	if got.Package != goodsPath || got.Name != "goods" || got.Synopsis != "Package goods has what is sold." || got.Errors != nil {
		t.Errorf("the package is %+v", got)
	}
	equal(t, names(got.Constants), []string{"Blue", "Far", "Giant", "Green", "Greeting", "Huge", "Imaginary", "Letter", "Long", "Quarter", "Red", "Third", "Yellow", "Yes"})
	equal(t, got.Constants[0], listed{"Blue", "const Blue Color = 3", "Blue is the last one."})
	equal(t, got.Constants[10], listed{"Red", "const Red Color = 1", "Colors that goods come in."})
	equal(t, got.Variables, []listed{
		{"Least", "var Least int", "Limits on an order."}, {"Most", "var Most int", "Limits on an order."},
		{"Names", "var Names map[string][]Color", "Names is filled while running."},
	})
	equal(t, got.Functions, []listed{
		{"Map", "func Map[T, U any](in []T, f func(T) U) []U", "Map maps."},
		{"Sum", "func Sum[S ~[]E, E Number](values S) (total E)", "Sum adds up."},
	})
	equal(t, got.Types, []listedType{
		{listed{"Also", "type Also = Item", "Also is another name for Item."}, nil},
		{listed{"Base", "type Base struct", "Base counts."}, []listed{
			{"Add", "func (b *Base) Add(n int)", "Add counts up."}, {"Total", "func (b Base) Total() int", "Total is the count."},
		}},
		{listed{"Color", "type Color uint8", "Color is a color."}, []listed{
			{"String", "func (c Color) String() string", "String names the color."},
		}},
		{listed{"Ints", "type Ints struct", "Ints embeds an instance."}, nil},
		{listed{"Item", "type Item struct", "Item has all of them."}, []listed{
			{"Total", "func (i *Item) Total() int", "Total hides what Base has."},
		}},
		{listed{"List", "type List[T any] struct", "List is a linked list."}, []listed{
			{"Push", "func (l *List[T]) Push(v T)", "Push puts a value in front."},
		}},
		{listed{"Middle", "type Middle struct", "Middle has a Base."}, nil},
		{listed{"Number", "type Number interface", "Number is what can be summed."}, nil},
		{listed{"Pair", "type Pair[K comparable, V any] struct", "Pair holds its values."}, []listed{
			{"Swap", "func (p Pair[K, V]) Swap(f func(V) K)", "Swap turns a pair around."},
		}},
		{listed{"Pairs", "type Pairs[V any] = map[string]V", "Pairs is a generic alias."}, nil},
		{listed{"Seller", "type Seller interface", "Seller sells."}, []listed{
			{"Sell", "func (Seller) Sell(i *Item) (ok bool, err error)", "Sell takes an item away."},
		}},
	})
}

func names(group []listed) []string {
	var out []string
	for _, l := range group {
		out = append(out, l.Name)
	}
	return out
}

func TestListInternal(t *testing.T) {
	t.Parallel()
	got := sharedShop(t).listingOf(t, "./goods", true)
	at := slices.IndexFunc(got.Types, func(l listedType) bool { return l.Name == "unexported" })
	if at < 0 {
		t.Fatalf("unexported is not among %+v", got.Types)
	}
	base := got.Types[slices.IndexFunc(got.Types, func(l listedType) bool { return l.Name == "Base" })]
	equal(t, names(base.Methods), []string{"Add", "Total", "hidden"})
	if !slices.IsSortedFunc(got.Types, func(a, b listedType) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	}) {
		t.Errorf("the types are not sorted: %+v", got.Types)
	}
}

// No answer is null where a list is promised.
func TestListEmptyGroups(t *testing.T) {
	t.Parallel()
	got := sharedShop(t).listingOf(t, "example.com/shop/cmd/till", false)
	equal(t, got, listing{
		Package: "example.com/shop/cmd/till", Name: "main", Synopsis: "Command till is the till.",
		Constants: []listed{}, Variables: []listed{}, Functions: []listed{}, Types: []listedType{},
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
	if len(calls.Constants) > maxListed || len(calls.Constants) == maxListed && calls.Omitted == 0 {
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
