package tools

import (
	"strings"
	"testing"
)

func (b *bench) slotsOf(t testing.TB, class, pkg string) slots {
	t.Helper()
	return decode[slots](t, b, "class_slots", slotsIn{Class: class, Package: pkg})
}

func TestSlots(t *testing.T) {
	t.Parallel()
	shop := sharedShop(t)
	count := slotField{
		Name: "Count", Type: "int", Tag: `json:"count"`, Offset: octets(0), Size: octets(8), Exported: true, Doc: "Count is how many.",
	}
	note := slotField{Name: "note", Type: "string", Offset: octets(8), Size: octets(16), Doc: "note is private."}
	behind := func(f slotField) slotField { f.Offset = nil; return f }
	for class, want := range map[string]slots{
		"Base": {Name: "Base", Package: goodsPath, Size: octets(24), Align: octets(8), Fields: []slotField{count, note}, Promoted: []promotedSlot{}},
		"Item": {
			Name: "Item", Package: goodsPath, Size: octets(40), Align: octets(8),
			Fields: []slotField{
				{Name: "Middle", Type: "Middle", Offset: octets(0), Size: octets(16), Exported: true, Embedded: true},
				{Name: "Stringer", Type: "fmt.Stringer", Offset: octets(16), Size: octets(16), Exported: true, Embedded: true},
				{Name: "Price", Type: "float64", Offset: octets(32), Size: octets(8), Exported: true},
			},
			Promoted: []promotedSlot{
				{slotField: slotField{Name: "Base", Type: "*Base", Offset: octets(0), Size: octets(8), Exported: true, Embedded: true}, From: "Middle", Path: "Middle.Base"},
				{slotField: slotField{Name: "Size", Type: "int8", Offset: octets(8), Size: octets(1), Exported: true}, From: "Middle", Path: "Middle.Size"},
				{slotField: behind(count), From: "Base", Path: "Middle.Base.Count", Pointer: true},
				{slotField: behind(note), From: "Base", Path: "Middle.Base.note", Pointer: true},
			},
		},
		// What another package keeps to itself is not promoted.
		"a/money.Coin": {
			Name: "Coin", Package: "example.com/shop/a/money", Size: octets(24), Align: octets(8),
			Fields:   []slotField{{Name: "Base", Type: "goods.Base", Offset: octets(0), Size: octets(24), Exported: true, Embedded: true}},
			Promoted: []promotedSlot{{slotField: count, From: "goods.Base", Path: "Base.Count"}},
		},
		"Pair": {
			Name: "Pair", Package: goodsPath, Promoted: []promotedSlot{},
			Fields: []slotField{{Name: "Key", Type: "K", Offset: octets(0), Exported: true}, {Name: "Value", Type: "V", Exported: true}},
		},
		"List": {
			Name: "List", Package: goodsPath, Size: octets(16), Align: octets(8), Promoted: []promotedSlot{},
			Fields: []slotField{
				{Name: "head", Type: "*node[T]", Offset: octets(0), Size: octets(8)}, {Name: "n", Type: "int", Offset: octets(8), Size: octets(8)},
			},
		},
		"Ints": {
			Name: "Ints", Package: goodsPath, Size: octets(16), Align: octets(8),
			Fields: []slotField{{Name: "List", Type: "List[int]", Offset: octets(0), Size: octets(16), Exported: true, Embedded: true}},
			Promoted: []promotedSlot{
				{slotField: slotField{Name: "head", Type: "*node[int]", Offset: octets(0), Size: octets(8)}, From: "List[int]", Path: "List.head"},
				{slotField: slotField{Name: "n", Type: "int", Offset: octets(8), Size: octets(8)}, From: "List[int]", Path: "List.n"},
			},
		},
		// Of two fields of one name at the same depth neither is promoted.
		"both": {
			Name: "both", Package: goodsPath, Size: octets(16), Align: octets(8), Promoted: []promotedSlot{},
			Fields: []slotField{
				{Name: "left", Type: "left", Offset: octets(0), Size: octets(8), Embedded: true},
				{Name: "right", Type: "right", Offset: octets(8), Size: octets(8), Embedded: true},
			},
		},
	} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			equal(t, shop.slotsOf(t, class, ""), want)
		})
	}
	equal(t, shop.slotsOf(t, "Also", "").Fields, shop.slotsOf(t, "Item", "").Fields)
}

func TestSlotsBehindUnknownSizes(t *testing.T) {
	t.Parallel()
	b := fresh(t, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"m.go": `package m

type Mixed[T any] struct {
	Flag bool
	N    int32
	V    T
	Last int
}

type Sizes struct{ Inner }

type Inner struct {
	A bool
	B int64
}

type Outer struct {
	C int16
	Sizes
}

type Lost struct {
	A int8
	B Nowhere
	C int8
}
`,
	})
	mixed := b.slotsOf(t, "Mixed", "")
	equal(t, []*int64{mixed.Fields[0].Offset, mixed.Fields[1].Offset, mixed.Fields[2].Offset, mixed.Fields[3].Offset}, []*int64{octets(0), octets(4), nil, nil})
	outer := b.slotsOf(t, "Outer", "")
	if last := outer.Promoted[len(outer.Promoted)-1]; last.Path != "Sizes.Inner.B" || last.Offset == nil || *last.Offset != 16 {
		t.Errorf("the last promoted field is %+v", last)
	}
	lost := b.slotsOf(t, "Lost", "")
	equal(t, []*int64{lost.Fields[0].Offset, lost.Fields[1].Offset, lost.Fields[2].Offset}, []*int64{octets(0), nil, nil})
	if len(lost.Errors) == 0 || lost.Size != nil {
		t.Errorf("a struct with a type that is not there is %+v", lost)
	}
}

func TestSlotsStd(t *testing.T) {
	t.Parallel()
	shop := sharedShop(t)
	client := shop.slotsOf(t, "http.Client", "")
	if len(client.Fields) != 4 || client.Fields[0].Name != "Transport" || client.Fields[0].Doc == "" {
		t.Errorf("http.Client is %+v", client)
	}
	got := shop.slotsOf(t, "bufio.ReadWriter", "")
	if len(got.Fields) != 2 || len(got.Promoted) == 0 {
		t.Errorf("bufio.ReadWriter is %+v", got)
	}
}

func TestSlotsFails(t *testing.T) {
	t.Parallel()
	shop := sharedShop(t)
	for class, want := range map[string]string{
		"Seller":     "example.com/shop/goods.Seller is an interface type, not a struct, so it has no fields; describe_symbol tells more of it",
		"Color":      "example.com/shop/goods.Color is a basic type, not a struct",
		"Sum":        "example.com/shop/goods.Sum is a func of type func[S ~[]E, E Number](values S) (total E), not a struct type",
		"Base.Count": "example.com/shop/goods.Base.Count is a field of type int, not a struct type",
		"Itme":       `there is no symbol "Itme" in the workspace; did you mean goods.Item?`,
		"Coin":       "symbol Coin is ambiguous",
	} {
		if got := shop.failing(t, "class_slots", slotsIn{Class: class}); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s\nwant %s", class, got, want)
		}
	}
}
