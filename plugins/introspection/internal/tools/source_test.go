package tools

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func (b *bench) sourceOf(t testing.TB, in sourceIn) string {
	t.Helper()
	res, err := b.call(t, t.Context(), "show_source", in)
	if err != nil || res.IsError {
		t.Fatalf("%+v: %s, %v", in, res.Text(), err)
	}
	return res.Text()
}

func TestShowSource(t *testing.T) {
	t.Parallel()
	shop := sharedShop(t)
	for _, c := range []struct {
		in   sourceIn
		want string
	}{
		{sourceIn{Symbol: "Base.Add"}, "// goods/goods.go:45-46\n// Add counts up.\nfunc (b *Base) Add(n int) { b.Count += n }\n"},
		{sourceIn{Symbol: "Middle"}, "// goods/goods.go:53-57\n// Middle has a Base.\ntype Middle struct {\n\t*Base\n\tSize int8\n}\n"},
		{sourceIn{Symbol: "Item.Count"}, "// goods/goods.go:40-41\n\t// Count is how many.\n\tCount int `json:\"count\"`\n"},
		{sourceIn{Symbol: "Middle.Base"}, "// goods/goods.go:55-55\n\t*Base\n"},
		{sourceIn{Symbol: "goods.Names"}, "// goods/goods.go:34-35\n\t// Names is filled while running.\n\tNames map[string][]Color\n"},
		// A constant that counts is shown with its group.
		{sourceIn{Symbol: "Blue"}, "// goods/goods.go:6-13\n// Colors that goods come in.\nconst (\n\tRed Color = iota + 1\n\tGreen\n" +
			"\t// Blue is the last one.\n\tBlue\n\tYellow // Yellow stands behind.\n)\n"},
		{sourceIn{Symbol: "Quarter"}, "// goods/goods.go:23-23\n\tQuarter  = 0.25\n"},
		{sourceIn{Symbol: "InTest"}, "// goods/goods_test.go:3-3\nfunc InTest() {}\n"},
		{sourceIn{Symbol: "Seller.Sell"}, "// goods/goods.go:78-79\n\t// Sell takes an item away.\n\tSell(i *Item) (ok bool, err error)\n"},
		{sourceIn{Position: "goods/goods.go:46:20"}, "// goods/goods.go:45-46\n// Add counts up.\nfunc (b *Base) Add(n int) { b.Count += n }\n"},
		{sourceIn{Position: "goods/other_plan9.go:3"}, "// goods/other_plan9.go:3-3\nfunc OnPlan9() {}\n"},
		{sourceIn{Position: "goods/goods.go:1:1"}, "// goods/goods.go:1-1\n// Package goods has what is sold. There is more to say about it.\n"},
	} {
		assert.Equalf(t, shop.sourceOf(t, c.in), c.want, "%+v", c.in)
	}
	// Dependencies and the standard library have source too, by name and by the positions of other tools.
	do := shop.sourceOf(t, sourceIn{Symbol: "net/http.Client.Do"})
	if !strings.HasPrefix(do, "// net/http/client.go:") || !strings.HasSuffix(do, "\nfunc (c *Client) Do(req *Request) (*Response, error) {\n\treturn c.do(req)\n}\n") {
		t.Errorf("http.Client.Do is %s", do)
	}
	if got := shop.sourceOf(t, sourceIn{Position: shop.symbolOf(t, "http.Client.Do", "").Position}); got != do {
		t.Errorf("at its position http.Client.Do is %s", got)
	}
	long := shop.sourceOf(t, sourceIn{Symbol: "net/http.Transport"})
	part := shop.sourceOf(t, sourceIn{Symbol: "net/http.Transport", Offset: 3, Limit: 2})
	if lines := strings.Split(part, "\n"); len(lines) != 5 || !strings.Contains(long, lines[1]+"\n"+lines[2]) ||
		!strings.HasPrefix(lines[3], "// ") || !strings.HasSuffix(lines[3], " more lines, with offset 5") {
		t.Errorf("a part of http.Transport is %s", part)
	}
	if got := shop.sourceOf(t, sourceIn{Symbol: "goods.Long"}); len(got) < 5000 {
		t.Errorf("goods.Long is %s", got)
	}
	for _, c := range []struct {
		in   sourceIn
		want string
	}{
		{sourceIn{}, "give the symbol"}, {sourceIn{Symbol: "Itme"}, `there is no symbol "Itme" in the workspace; did you mean goods.Item?`},
		{sourceIn{Symbol: "unsafe.Sizeof"}, "unsafe.Sizeof has no source"}, {sourceIn{Symbol: "a", Position: "b.go:1"}, "give a symbol or a position"},
		{sourceIn{Position: "goods.go"}, `"goods.go" is not a position`}, {sourceIn{Position: "goods/goods.go:9999"}, "goods/goods.go has 96 lines"},
		{sourceIn{Position: "fmt/prin.go:1"}, "package fmt has no file prin.go; did you mean print.go"},
		{sourceIn{Position: "nowhere/x.go:1"}, `there is no file nowhere/x.go in the workspace, and no package "nowhere"`},
	} {
		if got := shop.failing(t, "show_source", c.in); !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v: %s\nwant %s", c.in, got, c.want)
		}
	}
	for _, position := range []string{"../x.go:1", "/etc/x.go:1"} {
		if _, err := shop.call(t, t.Context(), "show_source", sourceIn{Position: position}); tool.CodeOf(err) != tool.CodePermissionDenied {
			t.Errorf("%s: %v, want permission denied", position, err)
		}
	}
}

func TestOutline(t *testing.T) {
	t.Parallel()
	b := shared(t, tested)
	got := decode[outline](t, b, "outline_file", outlineIn{File: "out_test.go", Uses: true})
	equal(t, got, outline{
		File: "out_test.go", Package: "tested_test", Lines: 16, Imports: []string{"testing", "example.com/tested"},
		Declarations: []string{
			"10 type Remote struct // Remote is a Saver next to the package.",
			"12 func (Remote) Save(tested.Item) error", "14 func outside() string", "16 func TestOut(t *testing.T)",
		},
		UsesOf: []string{"example.com/tested: Item, Item.Upper", "testing: T"},
	})
	in := decode[outline](t, b, "outline_file", outlineIn{File: "./in_test.go", Uses: true})
	equal(t, in.Uses, []string{"tested.go:4 type Saver interface", "tested.go:7 type Item struct", "tested.go:7 Key string"})
	equal(t, in.Declarations[1], "12 type fake struct")
	shop := sharedShop(t)
	std := decode[outline](t, shop, "outline_file", outlineIn{File: "net/http/client.go"})
	if std.Package != "http" || std.Lines < 500 || len(std.Declarations) < 30 {
		t.Errorf("net/http/client.go is %+v", std)
	}
	goods := decode[outline](t, shop, "outline_file", outlineIn{File: "goods/goods.go", page: page{Limit: 3}})
	equal(t, goods.Declarations, []string{"8 const Red Color = iota + 1 // Colors that goods come in.", "9 const Green // Colors that goods come in.", "11 const Blue // Blue is the last one."})
	if goods.NextOffset != 3 || goods.Omitted < 20 {
		t.Errorf("the rest is %+v", goods.rest)
	}
	other := decode[outline](t, shop, "outline_file", outlineIn{File: "goods/other_plan9.go"})
	equal(t, other.Declarations, []string{"3 func OnPlan9()"})
	for _, c := range []struct {
		in   outlineIn
		want string
	}{
		{outlineIn{File: "go.mod"}, "go.mod is not a Go file"}, {outlineIn{File: "goods"}, "goods is not a Go file"},
		{outlineIn{File: "goods/other_plan9.go", Uses: true}, "goods/other_plan9.go is in no package of the workspace on this platform"},
	} {
		if got := shop.failing(t, "outline_file", c.in); !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v: %s\nwant %s", c.in, got, c.want)
		}
	}
}

func TestListPackages(t *testing.T) {
	t.Parallel()
	got := decode[packageList](t, shared(t, tested), "list_packages", packagesIn{})
	equal(t, got, packageList{
		Modules: []string{"example.com/tested (.) go1.26"}, Requires: []string{"example.com/must"}, Total: 3,
		Packages: []listedPackage{
			{Path: "example.com/tested", Name: "tested", Dir: ".", Files: 1, Tests: 2},
			{Path: "example.com/tested/alone", Name: "alone", Dir: "alone", Tests: 1},
			{Path: "example.com/tested/apart", Name: "apart", Dir: "apart", Tests: 1},
		},
		OtherModules: []string{"dependency/must", "other"},
	})
	shop := decode[packageList](t, sharedShop(t), "list_packages", packagesIn{Scope: "example.com/shop/a/..."})
	equal(t, shop.Packages, []listedPackage{{
		Path: "example.com/shop/a/money", Name: "money", Dir: "a/money", Synopsis: "Package money is the first of its name.",
		Files: 1, Imports: []string{goodsPath},
	}})
	if !strings.HasPrefix(shop.LeftOut, "2 files are left out by build constraints (goods/other_plan9.go, tagged/tagged.go)") {
		t.Errorf("left out: %s", shop.LeftOut)
	}
}
