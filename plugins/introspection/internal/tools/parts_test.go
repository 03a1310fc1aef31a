package tools

import (
	"strings"
	"testing"
)

// parts is a module whose fields are in types without a name.
var parts = map[string]string{
	"go.mod": "module example.com/parts\n\ngo 1.26\n",
	"parts.go": `package parts

var Table struct{ Rows [4]int }

var Slice []struct{ A int }

var Map map[struct{ K int }]*struct{ V struct{ Deep int } }

type T struct {
	In struct{ X int }
	Ch chan struct{ Y int }
}

func F(o struct{ Name string }) (r struct{ Out int }) {
	type local struct{ L int }
	l := local{L: 1}
	l.L++
	v := struct{ W int }{W: 2}
	v.W++
	_ = o.Name
	r.Out = 3
	return r
}

func (t *T) M(o struct{ InM int }) { _ = o.InM }

func g(t T) {
	Table.Rows[0]++
	Slice[0].A = 1
	for k, v := range Map {
		_ = k.K
		v.V.Deep = 2
	}
	t.In.X = 4
	y := <-t.Ch
	_ = y.Y
	_ = F(struct{ Name string }{Name: "x"}).Out
}
`,
	// Parameters of tests are what an empty key was once found in.
	"parts_test.go": "package parts\n\nimport \"testing\"\n\nvar Cases []struct{ In, Out int }\n\n" +
		"func TestG(t *testing.T) { _ = Cases[0].In }\n",
}

func TestReferencesOfParts(t *testing.T) {
	t.Parallel()
	b := fresh(t, parts)
	for symbol, want := range map[string]string{
		"Table.Rows":      "parts.go:3:19 parts.go:28:8 read_write",
		"parts.Slice.A":   "parts.go:5:21 parts.go:29:11 write",
		"Map.K":           "parts.go:7:21 parts.go:31:9 read",
		"Map.V.Deep":      "parts.go:7:48 parts.go:32:7 write",
		"T.In.X":          "parts.go:10:13 parts.go:34:7 write",
		"T.Ch.Y":          "parts.go:11:18 parts.go:36:8 read",
		"F.o.Name":        "parts.go:14:18 parts.go:20:8 read",
		"F.r.Out":         "parts.go:14:44 parts.go:21:4 write parts.go:37:42 read",
		"F.local":         "parts.go:15:7 parts.go:16:7 type",
		"F.local.L":       "parts.go:15:21 parts.go:16:13 write parts.go:17:4 read_write",
		"T.M.o.InM":       "parts.go:25:25 parts.go:25:44 read",
		"parts.Cases.In":  "parts_test.go:5:21 parts_test.go:7:41 read",
		"parts.Cases.Out": "parts_test.go:5:25",
	} {
		got := b.referencesOf(t, symbol, "")
		have := got.Position
		for _, r := range got.References {
			have += " " + r.Position + " " + r.Access
		}
		if have != want || got.Total != len(got.References) || !strings.HasSuffix(got.Symbol, strings.TrimPrefix(symbol, "parts")) {
			t.Errorf("%s (%s):\n%s\nwant %s", symbol, got.Symbol, have, want)
		}
		if described := b.symbolOf(t, symbol, ""); described.Position != got.Position {
			t.Errorf("describe_symbol has %s at %s, want %s", symbol, described.Position, got.Position)
		}
	}
	for symbol, want := range map[string]string{
		"F.o":        "example.com/parts.F.o is local to a function",
		"Table.Rosw": `var example.com/parts.Table has no method or field "Rosw"; did you mean Rows?`,
		"T.In.Z":     `field example.com/parts.T.In has no method or field "Z"`,
	} {
		if got := b.failing(t, "who_references", referencesIn{Variable: symbol}); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s\nwant %s", symbol, got, want)
		}
	}
}
