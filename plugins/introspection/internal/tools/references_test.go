package tools

import "testing"

func (b *bench) referencesOf(t testing.TB, variable, pkg string) references {
	t.Helper()
	return decode[references](t, b, "who_references", referencesIn{Variable: variable, Package: pkg})
}

func TestReferences(t *testing.T) {
	t.Parallel()
	b := fresh(t, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"a/a.go": `package a

import "sync"

const Max = 3

var Count int

var Table struct {
	Rows [Max]int
	M    map[string]int
}

var Mu sync.Mutex

type T struct {
	F int
	*E
}

type E struct{ G []int }

type Other T

type List[V any] struct{ Head V }

func Use(t *T, o Other) {
	Count = Max
	Count++
	Count += 2
	_ = Count
	p := &Count
	*p, Count = 1, 2
	for Count = range 3 {
	}
	Table.Rows[1] = 2
	Table.M["x"] = 2
	_ = Table.Rows[:]
	Mu.Lock()
	_ = T{F: 1, E: nil}
	t.F, t.G = 1, nil
	o.F++
	t.E.G[0]++
	_ = T{1, nil}
	l := List[string]{Head: "x"}
	l.Head += "y"
	(Count) = 3
	Count := Count
	_ = Count
}
`,
		"b/b.go": `package b

import . "example.com/m/a"

var _ = List[int]{}.Head

type S struct{ T }

func f(s S) { s.T.F, s.F = Max, s.G[0] }
`,
		"b/b_test.go": "package b_test\n\nimport \"example.com/m/a\"\n\nvar _ = a.Max + a.Count\n",
	})
	for _, c := range []struct {
		variable, kind, position string
		want                     []string
	}{
		{"Count", "var", "a/a.go:7:5", []string{
			"a/a.go:28:2 write", "a/a.go:29:2 read_write", "a/a.go:30:2 read_write", "a/a.go:31:6 read", "a/a.go:32:8 address",
			"a/a.go:33:6 write", "a/a.go:34:6 write", "a/a.go:47:3 write", "a/a.go:48:11 read", "b/b_test.go:5:19 read",
		}},
		{"Table", "var", "a/a.go:9:5", []string{"a/a.go:36:2 write", "a/a.go:37:2 read", "a/a.go:38:6 address"}},
		{"Mu", "var", "a/a.go:14:5", []string{"a/a.go:39:2 address"}},
		{"Max", "const", "a/a.go:5:7", []string{"a/a.go:10:8 read", "a/a.go:28:10 read", "b/b.go:9:28 read", "b/b_test.go:5:11 read"}},
		{"T.F", "field", "a/a.go:17:2", []string{
			"a/a.go:40:8 write", "a/a.go:41:4 write", "a/a.go:42:4 read_write", "b/b.go:9:19 write", "b/b.go:9:24 write",
		}},
		{"Other.F", "field", "a/a.go:17:2", []string{
			"a/a.go:40:8 write", "a/a.go:41:4 write", "a/a.go:42:4 read_write", "b/b.go:9:19 write", "b/b.go:9:24 write",
		}},
		{"T.G", "field", "a/a.go:21:16", []string{"a/a.go:41:9 write", "a/a.go:43:6 read", "b/b.go:9:35 read"}},
		{"T.E", "field", "a/a.go:18:3", []string{"a/a.go:40:14 write", "a/a.go:43:4 read"}},
		{"List.Head", "field", "a/a.go:25:26", []string{"a/a.go:45:20 write", "a/a.go:46:4 read_write", "b/b.go:5:21 read"}},
		{"a.E", "type", "a/a.go:21:6", []string{"a/a.go:18:3 type"}},
		{"List", "type", "a/a.go:25:6", []string{"a/a.go:45:7 type", "b/b.go:5:9 type"}},
		{"S.T", "field", "b/b.go:7:16", []string{"b/b.go:9:17 write"}},
		{"sync.Mutex.Lock", "method", "", []string{"a/a.go:39:5 call"}},
		{"sync.Mutex", "type", "", []string{"a/a.go:14:13 type"}},
	} {
		got := b.referencesOf(t, c.variable, "")
		lines := []string{}
		for _, r := range got.References {
			lines = append(lines, r.Position+" "+r.Access)
		}
		t.Log(c.variable)
		equal(t, lines, c.want)
		if got.Kind != c.kind || c.position != "" && got.Position != c.position || got.Total != len(c.want) {
			t.Errorf("%s is a %s at %s with %d uses", c.variable, got.Kind, got.Position, got.Total)
		}
	}
	got := b.referencesOf(t, "Count", "a")
	equal(t, got.References[1], referred{site{"a/a.go:29:2", "a.Use", "Count++"}, "read_write"})
	equal(t, got.Accesses, map[string]int{"read": 3, "write": 4, "read_write": 2, "address": 1})
	if got.Symbol != "example.com/m/a.Count" || got.Errors != nil {
		t.Errorf("the symbol is %s, the errors are %v", got.Symbol, got.Errors)
	}
}
