package tools

import (
	"errors"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestNotFound(t *testing.T) {
	t.Parallel()
	shop := sharedShop(t)
	for _, c := range []struct{ symbol, pkg, want string }{
		{"Itme", "", `there is no symbol "Itme" in the workspace; did you mean goods.Item?`},
		{"goods.Itm", "", `package example.com/shop/goods has no symbol "Itm"; did you mean Item?`},
		{"fmt.Prinln", "", `package fmt has no symbol "Prinln"; did you mean Println, Fprintln, Print, Printf, Sprintln?`},
		{"Item.Totl", "", `type example.com/shop/goods.Item has no method or field "Totl"; did you mean Total?`},
		{"Item.count", "", `type example.com/shop/goods.Item has no method or field "count"; did you mean Count?`},
		{"both.Twice", "", `example.com/shop/goods.both.Twice cannot be selected: several embedded fields have a "Twice"`},
		{"init", "goods", `package example.com/shop/goods has no symbol "init"`},
		{"_", "goods", `package example.com/shop/goods has no symbol "_"`},
		{"ftm.Println", "", `there is no package "ftm" in the workspace, its dependencies or the standard library; did you mean fmt?`},
		{"net/htp.Client", "", `there is no package "net/htp" in the workspace, its dependencies or the standard library; did you mean net/http`},
		{"Println", "fmtt", `there is no package "fmtt" in the workspace, its dependencies or the standard library; did you mean fmt`},
		{"Item", "godos", `there is no package "godos" in the workspace, its dependencies or the standard library; did you mean example.com/shop/goods?`},
		{"OnPlan9", "goods", "package example.com/shop/goods declares OnPlan9 only in files that build constraints leave out (goods/other_plan9.go)"},
		{"OnPlan9", "", "OnPlan9 is declared only in files that build constraints leave out (goods/other_plan9.go); goos or tags can include them"},
		{"broken.Fien", "", `package example.com/shop/broken has no symbol "Fien"; the package does not compile: broken/broken.go:4:8: no required`},
		{"error", "", "error is predeclared by the language"},
		{"net/http", "", `"net/http" does not name a symbol`},
		{"a b.!", "", `"a b.!" does not name a symbol`},
		{"x", "all", `there is no package "all"`},
		{"x", "std", `there is no package "std"`},
		{"x", "./...", "there is no directory ... in the workspace"},
		{"x", "example.com/shop/...", `there is no package "example.com/shop/..."`},
		{"x", "./goods/goods.go", "goods/goods.go is not a directory"},
		{"x", "./tagged", "package example.com/shop/tagged has no Go files on this platform; " +
			"1 file is left out by build constraints (tagged/tagged.go); goos or tags can include them"},
		{"x", "tagged", "package example.com/shop/tagged has no Go files on this platform; 1 file is left out"},
		{"x", "./nowhere", "there is no directory nowhere"},
		{"x", "file=go.mod", `there is no package "file=go.mod"`},
		{"x", "fmt@latest", `there is no package "fmt@latest"`},
		{"x", "example.com/shop/nothing", `there is no package "example.com/shop/nothing"`},
	} {
		got := shop.failing(t, "describe_symbol", describeIn{Symbol: c.symbol, Package: c.pkg})
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%q in %q: %s\nwant %s", c.symbol, c.pkg, got, c.want)
		}
	}
}

func TestAmbiguous(t *testing.T) {
	t.Parallel()
	shop := sharedShop(t)
	for _, c := range []struct{ symbol, pkg, want string }{
		{"Coin", "", "symbol Coin is ambiguous: it can be example.com/shop/a/money.Coin, example.com/shop/b/money.Coin; name one of these in full"},
		{"money.Coin", "", "symbol money.Coin is ambiguous: it can be example.com/shop/a/money.Coin, example.com/shop/b/money.Coin; name one of these in full"},
		{"Coin", "money", "package money is ambiguous: it can be example.com/shop/a/money, example.com/shop/b/money; name one of these in full"},
		{"template.Template", "", "symbol template.Template is ambiguous: it can be html/template.Template, text/template.Template; name one of these in full"},
	} {
		if got := shop.failing(t, "describe_symbol", describeIn{Symbol: c.symbol, Package: c.pkg}); got != c.want {
			t.Errorf("%q in %q: %s\nwant %s", c.symbol, c.pkg, got, c.want)
		}
	}
	// Enough of the path, or a symbol that only one of them has, decides.
	for symbol, want := range map[string]string{
		"a/money.Coin": "example.com/shop/a/money", "money.Euros": "example.com/shop/b/money", "Coin.Cents": "example.com/shop/b/money",
		"money.Coin.Count": "example.com/shop/a/money", "template.HTML": "html/template",
	} {
		assert.Equalf(t, shop.symbolOf(t, symbol, "").Package, want, "%s is in", symbol)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	shop := sharedShop(t)
	for _, pkg := range []string{"-o=x", "--", "-modfile=/etc/passwd", "/etc", "/", "..", "../x", "./../x", "a/../../x", "./a/../../x", "//etc"} {
		calls := map[string]any{
			"describe_symbol":      describeIn{Symbol: "X", Package: pkg},
			"list_package_symbols": listIn{Package: pkg},
			"apropos_search":       aproposIn{Pattern: "X", Package: pkg},
			"function_arglist":     arglistIn{Function: "X", Package: pkg},
			"class_slots":          slotsIn{Class: "X", Package: pkg},
			"class_hierarchy":      hierarchyIn{Class: "X", Package: pkg},
			"macroexpand_form":     macroexpandIn{Form: "1", Package: pkg},
		}
		for name, args := range calls {
			_, err := shop.call(t, t.Context(), name, args)
			var e *tool.Error
			if !errors.As(err, &e) || e.Code != tool.CodePermissionDenied || e.Hint == "" {
				t.Errorf("%s of %q: %v, want permission denied", name, pkg, err)
			}
		}
	}
	for _, symbol := range []string{"-flag.X", "/etc.X", "../x.X", "a/../../x.X", "/etc/passwd.X.Y"} {
		_, err := shop.call(t, t.Context(), "describe_symbol", describeIn{Symbol: symbol})
		assert.Equalf(t, tool.CodeOf(err), tool.CodePermissionDenied, "symbol %q: %v, want permission denied", symbol, err)
	}
}

func TestDefinitions(t *testing.T) {
	t.Parallel()
	for name, d := range sharedShop(t).defs {
		if d.Safety != tool.Safe || d.Permission != tool.FSRead || !d.Idempotent || d.MaxRetries != 2 {
			t.Errorf("%s claims %+v", name, d)
		}
		if n := strings.Count(string(d.InputSchema), `"maxLength":`); n != strings.Count(string(d.InputSchema), `"string"`) {
			t.Errorf("%s has an argument of any length: %s", name, d.InputSchema)
		}
	}
}
