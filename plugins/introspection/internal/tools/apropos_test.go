package tools

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

func (b *bench) aproposOf(t testing.TB, pattern, pkg string) matches {
	t.Helper()
	return decode[matches](t, b, "apropos_search", aproposIn{Pattern: pattern, Package: pkg})
}

func (m matches) names() []string {
	var out []string
	for _, one := range m.Matches {
		out = append(out, one.Package[strings.LastIndex(one.Package, "/")+1:]+"."+one.Name)
	}
	return out
}

func TestApropos(t *testing.T) {
	t.Parallel()
	shop := sharedShop(t)
	for _, c := range []struct {
		pattern, pkg string
		want         []string
	}{
		{"^Coin$", "", []string{"money.Coin", "money.Coin"}},
		// Package level before members, exported before unexported.
		{"total", "goods", []string{"goods.Base.Total", "goods.Item.Total"}},
		{"n", "goods", []string{"goods.List.n", "goods.Names", "goods.Number", "goods.node", "goods.Base.note", "goods.node.next"}},
		{"Middle.Size", "", []string{"goods.Middle.Size"}},
		{"goods.pair", "", []string{"goods.Pair", "goods.Pairs"}},
		{"base.t", "goods", []string{"goods.Base.Total"}},
		{"^(Red|Blue)$", "", []string{"goods.Red", "goods.Blue"}},
		{"(?-i)^sum$", "goods", nil},
		{"swap", "./goods", []string{"goods.Pair.Swap"}},
		{"InTest", "", []string{"goods.InTest"}},
		{"OnPlan9", "", []string{"goods.OnPlan9"}},
		{"^(Middle|Base)$", "goods", []string{"goods.Base", "goods.Middle", "goods.Middle.Base", "goods.Item.Middle"}},
	} {
		got := shop.aproposOf(t, c.pattern, c.pkg)
		if c.pattern == "n" {
			if len(got.Matches) < 6 {
				t.Fatalf("%q finds only %v", c.pattern, got.names())
			}
			got.Matches = got.Matches[:6]
		}
		if !slices.Equal(got.names()[:min(len(got.Matches), max(len(c.want), 1))], c.want) {
			t.Errorf("%q in %q finds %v, want %v", c.pattern, c.pkg, got.names(), c.want)
		}
	}
	if got := shop.aproposOf(t, "OnPlan9", "").Matches; !got[0].LeftOut {
		t.Errorf("a symbol of a file that is left out is %+v", got)
	}
	no := false
	if got := decode[matches](t, shop, "apropos_search", aproposIn{Pattern: "InTest", tests: tests{&no}}); got.Total != 0 {
		t.Errorf("without tests InTest is %+v", got)
	}
	equal(t, shop.aproposOf(t, "dollars", "").Matches, []matched{
		{Name: "Dollars", Kind: "func", Package: "example.com/shop/a/money", Synopsis: "Only here.", Position: "a/money/money.go:10:6"},
	})
	kinds := map[string]string{}
	for _, m := range shop.aproposOf(t, ".", "goods").Matches {
		kinds[m.Name] = m.Kind
	}
	for name, want := range map[string]string{"Red": "const", "Most": "var", "Sum": "func", "Item": "type", "Base.Add": "method", "Base.Count": "field", "Seller.Sell": "method"} {
		assert.Equalf(t, kinds[name], want, "%s is a", name)
	}
}

func TestAproposElsewhere(t *testing.T) {
	t.Parallel()
	shop := sharedShop(t)
	// Nothing imports net/http, and still it can be found.
	got := shop.aproposOf(t, "HTTPSServer|ListenAndServeTLS", "")
	if got.Total < 2 || got.Matches[0].Package != "net/http" || !strings.HasPrefix(got.Matches[0].Position, "net/http/server.go:") {
		t.Errorf("ListenAndServeTLS is %+v", got)
	}
	if got := shop.aproposOf(t, "String", ""); got.Total <= maxMatches || len(got.Matches) != maxMatches ||
		got.Matches[0].Package != goodsPath || got.Matches[0].Name != "Color.String" {
		t.Errorf("String finds %d, first %+v", got.Total, got.Matches[0])
	}
	for _, m := range shop.aproposOf(t, "^abi|internal", "").Matches {
		if strings.Contains(m.Package, "internal") || m.Name != "" && !strings.HasPrefix(m.Package, "example.com/") && m.Name[0] >= 'a' {
			t.Errorf("%+v cannot be used from the workspace", m)
		}
	}
	// Unexported names of other packages are found only if their package is named.
	if got := shop.aproposOf(t, "^newPrinter$", ""); got.Total != 0 {
		t.Errorf("newPrinter is %+v", got)
	}
	if got := shop.aproposOf(t, "^newPrinter$", "fmt"); got.Total != 1 {
		t.Errorf("newPrinter of fmt is %+v", got)
	}
}

func TestAproposBadPatterns(t *testing.T) {
	t.Parallel()
	b := fresh(t, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"m.go":   "package m\n\n// Broken is.\nfunc Broken( {\n\nfunc Fine() {}\n",
		"n/n.go": "package n\n\nfunc Ünïcode() {}\n",
	})
	if got := b.aproposOf(t, "fine(", ""); !got.Literal || got.Total != 0 || got.Matches == nil {
		t.Errorf("an invalid expression finds %+v", got)
	}
	if got := b.aproposOf(t, "[ünï", ""); !got.Literal {
		t.Errorf("an invalid expression finds %+v", got)
	}
	if got := b.aproposOf(t, "ünï", ""); got.Total != 1 || got.Matches[0].Name != "Ünïcode" {
		t.Errorf("letters beyond ASCII find %+v", got)
	}
	if got := b.aproposOf(t, "^Fnie$", "."); got.Total != 0 {
		t.Errorf("Fnie is %+v", got)
	}
	// A file that does not parse has what comes before the mistake, or more.
	if got := b.aproposOf(t, "Broken", ""); got.Total == 0 {
		t.Errorf("in a file that does not parse: %+v", got)
	}
	if got := b.aproposOf(t, "Ünicode", ""); len(got.DidYouMean) == 0 || got.DidYouMean[0] != "n.Ünïcode" {
		t.Errorf("near names are %+v", got)
	}
	// An edit is seen.
	b.edit(t, "n/n.go", "package n\n\nfunc Another() {}\n", time.Second)
	if got := b.aproposOf(t, "^another", ""); got.Total != 1 {
		t.Errorf("after an edit Another is %+v", got)
	}
	if got := b.failing(t, "apropos_search", aproposIn{Pattern: "x", Package: "nn"}); !strings.HasPrefix(got, `there is no package "nn"`) {
		t.Error(got)
	}
}

func TestClassOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          int
	}{
		{"Client", "Client", matchWhole}, {"client", "Client", matchWhole}, {"cli", "Client", matchPrefix},
		{"client", "HTTPClient", matchWord}, {"http", "newHTTPClient", matchWord}, {"get", "T.Get", matchWord}, {"b", "a_b", matchWord},
		{"lien", "Client", matchWithin}, {"client", "Hclient", matchWithin}, {"x*", "Client", matchWithin}, {"TPC", "HTTPClient", matchWithin},
	} {
		m := require.Must(newMatcher(c.pattern))(t)
		if got, ok := m.name(c.name); !ok || got != c.want {
			t.Errorf("%q in %s is of class %d, want %d", c.pattern, c.name, got, c.want)
		}
	}
}
