package pluginsdk

import (
	"encoding/json"
	"log/slog"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	validator "github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/toolhost/toolhost/internal/test/require"
)

// Inferred schemas agree with encoding/json: the encodings of good values fit, and bad
// texts do not.
type trial struct {
	name string
	typ  reflect.Type
	good []any
	bad  []string
}

func try[T any](name string, good []T, bad ...string) trial {
	tr := trial{name: name, typ: reflect.TypeFor[T](), bad: bad}
	for _, v := range good {
		// Once without an address and once with: encoding/json calls methods with pointer
		// receivers only in the second case.
		tr.good = append(tr.good, v, &v)
	}
	return tr
}

func runAll(t *testing.T, trials []trial) {
	t.Helper()
	for _, tr := range trials {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			tr.run(t)
		})
	}
}

func (tr trial) run(t *testing.T) {
	t.Helper()
	s := require.Must(infer(tr.typ))(t)
	text := require.Must(json.Marshal(s))(t)
	compiled, err := validator.CompileString("schema.json", string(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, v := range tr.good {
		b := require.Must(json.Marshal(v))(t)
		if err := validate(compiled, b); err != nil {
			t.Errorf("%s is refused: %v\n%s", b, err, text)
		}
	}
	for _, b := range tr.bad {
		if err := validate(compiled, []byte(b)); err == nil {
			t.Errorf("%s is accepted\n%s", b, text)
		}
	}
}

func validate(s *validator.Schema, doc []byte) error {
	dec := json.NewDecoder(strings.NewReader(string(doc)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return err
	}
	return s.Validate(v)
}

func at[T any](v T) *T { return &v }

type (
	blob         []byte
	octet        uint8
	loudByte     byte
	flags        []loudByte
	level        int
	point        struct{ X, Y int }
	money        struct{ cents int64 }
	inked        struct{ s string }
	boxed[T any] struct {
		Value T  `json:"value"`
		Other *T `json:"other,omitempty"`
	}
	pair[A, B any] struct {
		First  A
		Second B
	}
)

func (loudByte) MarshalText() ([]byte, error) { return []byte("loud"), nil }
func (level) MarshalText() ([]byte, error)    { return []byte("high"), nil }
func (money) MarshalJSON() ([]byte, error)    { return []byte(`{"any":[1]}`), nil }
func (*inked) MarshalText() ([]byte, error)   { return []byte("ink"), nil }

var noon = time.Date(2026, 1, 2, 12, 0, 0, 5, time.UTC)

func TestInferPlain(t *testing.T) {
	t.Parallel()
	type plain struct {
		S   string
		B   bool
		I   int
		I8  int8
		U8  uint8
		U64 uint64
		F   float64
		Oct octet
	}
	full := plain{"s", true, -1, -128, 255, math.MaxUint64, 1.5, 7}
	text := func(change string) string {
		m := map[string]any{"S": "", "B": false, "I": 0, "I8": 0, "U8": 0, "U64": 0, "F": 0, "Oct": 0}
		require.NoError(t, json.Unmarshal([]byte(change), &m))
		b, _ := json.Marshal(m)
		return string(b)
	}
	runAll(t, []trial{
		try("struct", []plain{{}, full}, text(`{"S":1}`), text(`{"B":"x"}`), text(`{"I":1.5}`), text(`{"I8":128}`),
			text(`{"U8":-1}`), text(`{"U64":-1}`), text(`{"F":"1"}`), text(`{"Oct":256}`), text(`{"Extra":1}`), `{}`, `null`, `[]`),
		try("empty struct", []struct{}{{}}, `{"a":1}`, `null`),
		try("string", []string{"", "x"}, `1`, `null`),
		try("named int", []time.Duration{0, time.Second}, `"1s"`),
		try("interface", []any{nil, 1, "x", []int{1}}),
		try("number", []json.Number{"", "1.5", "12345678901234567890"}, `"1"`, `null`),
		try("pointer", []*int{nil, at(1)}, `"1"`, `1.5`),
		try("pointer to pointer", []**int{nil, at[*int](nil), at(at(1))}, `"1"`),
	})
}

func TestInferBytes(t *testing.T) {
	t.Parallel()
	runAll(t, []trial{
		try("bytes", [][]byte{nil, {}, {1, 2}}, `[1,2]`, `1`),
		try("named", []blob{nil, {}, {1, 2}}, `[1,2]`),
		try("of a named byte", [][]octet{nil, {}, {1}}, `[1]`),
		try("of bytes that marshal themselves", []flags{nil, {}, {1}}, `"AQ=="`, `[1]`),
		try("array", [][4]byte{{}, {1, 2, 3, 4}}, `"AQ=="`, `[1,2,3]`, `[1,2,3,400]`, `null`),
		try("in a struct", []struct{ A, B []byte }{{}, {A: []byte("x"), B: []byte{}}}, `{"A":[1],"B":null}`, `{"A":null}`),
		try("pointer", []*[]byte{nil, at([]byte(nil)), at([]byte("x"))}, `[1]`),
	})
}

func TestInferTypesThatMarshalThemselves(t *testing.T) {
	t.Parallel()
	type stamps struct {
		At   time.Time
		Till *time.Time
		Opt  time.Time `json:",omitzero"`
	}
	runAll(t, []trial{
		try("raw", []json.RawMessage{nil, json.RawMessage(`{"a":1}`), json.RawMessage(`3`)}),
		try("raw in a struct", []struct {
			R json.RawMessage
			P *json.RawMessage
			O json.RawMessage `json:",omitempty"`
		}{{}, {R: json.RawMessage(`[1]`), P: at(json.RawMessage(`"x"`)), O: json.RawMessage(`1`)}}, `{"R":1}`, `[]`),
		try("time", []time.Time{{}, noon}, `1`, `null`, `{}`),
		try("times", []stamps{{}, {At: noon, Till: &noon, Opt: noon}},
			`{"At":1,"Till":null}`, `{"At":"","Till":1}`, `{"At":""}`),
		try("text", []netip.Addr{{}, netip.MustParseAddr("::1")}, `1`, `{}`, `null`),
		try("pointer to text", []*netip.Addr{nil, at(netip.MustParseAddr("::1"))}, `1`, `{}`),
		try("text of a plain kind", []level{0, 1}, `1`, `null`),
		try("json", []money{{}, {5}}),
		try("json behind a pointer", []*money{nil, {5}}),
		try("text of a pointer", []inked{{}, {"x"}}),
		try("map of text of a pointer", []map[string]inked{nil, {"a": {"x"}}}, `[]`),
		try("big", []struct {
			I  *big.Int
			IV big.Int
			R  *big.Rat
			F  *big.Float
		}{{}, {I: big.NewInt(5), R: big.NewRat(1, 2), F: big.NewFloat(0.5)}}, `{"I":1}`),
		try("slog level", []slog.Level{0, slog.LevelError + 1}, `1`),
		try("interface with methods", []error{nil}),
	})
}

func TestInferContainers(t *testing.T) {
	t.Parallel()
	runAll(t, []trial{
		try("slice", [][]string{nil, {}, {"a"}}, `[1]`, `[null]`, `"a"`, `{}`),
		try("slice of pointers", [][]*string{nil, {nil, at("a")}}, `[1]`),
		try("array", [][2]bool{{}, {true, true}}, `[true]`, `[true,true,true]`, `null`),
		try("map", []map[string]int{nil, {}, {"a": 1}}, `{"a":"1"}`, `[]`),
		try("map of text", []map[netip.Addr]bool{nil, {netip.MustParseAddr("::1"): true}}, `{"::1":1}`),
		try("map of slices", []map[string][]int{{"a": nil, "b": {1}}}, `{"a":[""]}`),
		try("maps in a struct", []struct {
			M map[string]point
			O map[string]*point `json:",omitempty"`
		}{{}, {M: map[string]point{"a": {}}, O: map[string]*point{"a": nil, "b": {1, 2}}}},
			`{"M":{"a":null}}`, `{"M":{"a":{"X":1}}}`),
		try("nested structs", []struct {
			A point
			B *point
			C struct{ D []point }
		}{{}, {B: &point{}, C: struct{ D []point }{[]point{{1, 2}}}}},
			`{"A":null,"B":null,"C":{"D":null}}`, `{"A":{"X":0,"Y":0},"B":{"X":0},"C":{"D":null}}`,
			`{"A":{"X":0,"Y":0},"B":null,"C":{"D":[{}]}}`),
		try("generic", []boxed[int]{{}, {1, at(2)}}, `{"value":"1"}`, `{"value":1,"other":"2"}`, `{}`),
		try("generic of a generic", []boxed[pair[string, []point]]{{}, {Other: &pair[string, []point]{"a", []point{{}}}}},
			`{"value":{"First":1,"Second":null}}`),
		try("one type twice", []pair[point, *point]{{}, {Second: &point{}}}, `{"First":null,"Second":null}`),
	})
}

type (
	list struct {
		Value int   `json:"value"`
		Next  *list `json:"next,omitempty"`
	}
	tree struct {
		Name     string           `json:"name"`
		Children []tree           `json:"children"`
		ByName   map[string]*tree `json:"by_name"`
		Parent   *tree            `json:"parent"`
		Values   map[string]tree  `json:"values,omitempty"`
	}
	chicken struct {
		Eggs []egg `json:"eggs"`
	}
	egg struct {
		Chicken *chicken `json:"chicken"`
		Twin    *egg     `json:"twin,omitempty"`
	}
	forest      []forest
	dirs        map[string]dirs
	node[V any] struct {
		Value V          `json:"value"`
		Kids  []*node[V] `json:"kids,omitempty"`
	}
	Link struct {
		Up *Person `json:"up,omitempty"`
	}
	Person struct {
		Link
		Name string `json:"name"`
	}
	pairs [][2]pairs
)

func TestInferRecursive(t *testing.T) {
	t.Parallel()
	leaf := tree{Name: "leaf"}
	type holder struct {
		First  list  `json:"first"`
		Second *list `json:"second"`
		Third  []list
	}
	runAll(t, []trial{
		try("linked list", []list{{}, {1, &list{2, &list{3, nil}}}},
			`{}`, `{"value":1,"next":{}}`, `{"value":1,"next":{"value":1,"next":[]}}`, `null`),
		try("pointer to it", []*list{nil, {1, &list{2, nil}}}, `{}`, `{"value":1,"next":{}}`),
		try("below the root", []holder{{}, {list{1, &list{}}, &list{2, nil}, []list{{}}}},
			`{"first":null,"second":null,"Third":null}`, `{"first":{"value":1},"second":{},"Third":null}`,
			`{"first":{"value":1},"second":null,"Third":[{"value":1,"next":{}}]}`),
		try("tree", []tree{{}, {
			"root", []tree{leaf, {}}, map[string]*tree{"a": &leaf, "b": nil}, &leaf, map[string]tree{"a": leaf},
		}},
			`{"name":"a","children":null,"by_name":null}`, `{"name":"a","children":[null],"by_name":null,"parent":null}`,
			`{"name":"a","children":null,"by_name":{"a":{}},"parent":null}`,
			`{"name":"a","children":null,"by_name":null,"parent":null,"values":{"a":null}}`),
		try("mutual", []chicken{{}, {[]egg{{}, {&chicken{}, &egg{}}}}}, `{"eggs":[null]}`, `{"eggs":[{"chicken":{}}]}`),
		try("mutual, from the other side", []egg{{}, {&chicken{[]egg{{}}}, &egg{}}}, `{"chicken":{"eggs":[{}]}}`),
		try("both sides", []struct {
			E egg
			C chicken
			P *chicken
		}{{}, {C: chicken{[]egg{{}}}, P: &chicken{}}},
			`{"E":{"chicken":null},"C":{"eggs":[{}]},"P":null}`, `{"E":{},"C":{"eggs":null},"P":null}`),
		try("slice of itself", []forest{nil, {}, {nil, {{}, nil}}}, `{}`, `[1]`, `[[{}]]`),
		try("slice of itself below", []struct{ F forest }{{}, {forest{nil}}}, `{"F":[1]}`),
		try("map of itself", []dirs{nil, {}, {"a": nil, "b": {"c": {}}}}, `[]`, `{"a":1}`, `{"a":{"b":[]}}`),
		try("slice of arrays of itself", []pairs{nil, {}, {{nil, pairs{}}}}, `[[]]`, `[[null]]`, `{}`),
		try("generic", []node[string]{{}, {"a", []*node[string]{{}, nil, {Value: "b"}}}},
			`{"value":1}`, `{"value":"a","kids":[{}]}`),
		try("generics", []pair[node[string], node[point]]{{}}, `{"First":{"value":""},"Second":{"value":""}}`),
		try("through an embedded struct", []Person{{}, {Link{&Person{Name: "b"}}, "a"}}, `{}`, `{"name":"a","up":{}}`),
		try("slice root", [][]list{nil, {{}, {1, &list{}}}}, `[{}]`),
		try("map root", []map[string]list{nil, {"a": {1, &list{}}}}, `{"a":null}`, `{"a":{"value":1,"next":{}}}`),
		try("map of pointers", []map[string]*list{nil, {"a": nil, "b": {}}}, `{"a":{}}`),
	})
}

func TestInferNamesOfDefs(t *testing.T) {
	t.Parallel()
	s, err := infer(reflect.TypeFor[pair[node[map[string]string], node[map[string]int]]]())
	require.NoError(t, err)
	if len(s.Defs) != 2 {
		t.Errorf("%d definitions, want 2: %v", len(s.Defs), s.Defs)
	}
	for name := range s.Defs {
		if strings.ContainsAny(name, "/[]~%* ,") {
			t.Errorf("the name %q needs escaping", name)
		}
	}
	type list struct{ Next *list } // another type of the same name
	if s, err = infer(reflect.TypeFor[pair[list, *node[int]]]()); err != nil || len(s.Defs) != 2 {
		t.Errorf("%v, %v", s.Defs, err)
	}
	if s, err = infer(reflect.TypeFor[pair[list, otherList]]()); err != nil {
		t.Fatal(err)
	}
	if s.Defs["list"] == nil || s.Defs["list2"] == nil {
		t.Errorf("two types called list share a definition: %v", s.Defs)
	}
}

type otherList = list

func TestInferIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	var first string
	for range 20 {
		s := require.Must(infer(reflect.TypeFor[pair[tree, pair[egg, point]]]()))(t)
		b := require.Must(json.Marshal(s))(t)
		if first == "" {
			first = string(b)
		}
		if string(b) != first {
			t.Fatalf("%s\nthen\n%s", first, b)
		}
	}
}

func TestInferRefuses(t *testing.T) {
	t.Parallel()
	type selfPointer *selfPointer
	for name, c := range map[string]struct {
		typ  reflect.Type
		want string
	}{
		"channel":     {reflect.TypeFor[struct{ C chan int }](), "field C: chan int has no form in JSON"},
		"function":    {reflect.TypeFor[struct{ In struct{ F []func() } }](), "field In: field F: func() has no form in JSON"},
		"complex":     {reflect.TypeFor[map[string]complex128](), "complex128 has no form in JSON"},
		"keys":        {reflect.TypeFor[struct{ M map[bool]int }](), "field M: map[bool]int has keys that cannot be described"},
		"number keys": {reflect.TypeFor[map[int]string](), "map[int]string has keys that cannot be described"},
		"itself":      {reflect.TypeFor[selfPointer](), "points to itself"},
		"quoted": {reflect.TypeFor[struct {
			N int `json:",string"`
		}](), "the json option string"},
		"embedded pointer": {reflect.TypeFor[struct{ *Base }](), "embeds *pluginsdk.Base"},
		"embedded with name": {reflect.TypeFor[struct {
			Base `json:"base"`
		}](), "embeds pluginsdk.Base"},
		"embedded and hidden": {reflect.TypeFor[struct {
			Base `json:"-"`
		}](), "embeds pluginsdk.Base"},
		"embedded word":      {reflect.TypeFor[struct{ Word }](), "embeds pluginsdk.Word"},
		"embedded interface": {reflect.TypeFor[struct{ json.Token }](), "embeds json.Token"},
		"array":              {reflect.TypeFor[[2]chan int](), "chan int has no form in JSON"},
		"malformed tag": {
			reflect.StructOf([]reflect.StructField{{Name: "A", Type: reflect.TypeFor[string](), Tag: `json:"a" enum='b'`}}),
			`field A: the struct tag is malformed from "enum='b'" on; it must be KEY:"VALUE"`,
		},
		"keywords in a tag": {reflect.TypeFor[struct {
			A int `jsonschema:"minimum=1"`
		}](), "tag must not begin with 'WORD='"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := infer(c.typ); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

type (
	Base struct {
		ID    int    `json:"id"`
		Label string `json:"label,omitempty"`
	}
	Deep struct {
		Base
		Depth int `json:"depth"`
	}
	hiddenBase struct{ Shown int }
	Word       string
	loner      int
	Shadow     struct {
		Base
		ID string `json:"id"`
	}
	A struct {
		Same int
		One  int
	}
	B struct {
		Same int
		Two  int
	}
	Clash struct {
		A
		B
	}
)

func TestInferEmbedded(t *testing.T) {
	t.Parallel()
	runAll(t, []trial{
		try("value", []Deep{{}, {Base{1, "l"}, 2}}, `{"depth":1}`, `{"id":1}`, `{"id":1,"depth":1,"Base":{}}`),
		try("not exported", []struct{ hiddenBase }{{}, {hiddenBase{1}}}, `{}`, `{"hiddenBase":{"Shown":1}}`),
		try("not a struct, not exported", []struct {
			loner
			N int
		}{{}, {1, 2}}, `{"loner":1,"N":2}`, `{}`),
		try("shadowed", []Shadow{{}, {Base{ID: 1}, "x"}}, `{"id":1}`, `{}`),
		try("clash", []Clash{{}, {A{1, 2}, B{3, 4}}}, `{"One":1,"Two":2,"Same":3}`, `{"One":1}`),
		try("times", []struct{ time.Time }{{}, {noon}}), // promotes MarshalJSON
	})
}

func TestInferTags(t *testing.T) {
	t.Parallel()
	type tagged struct {
		Renamed  int      `json:"re-named"`
		Hidden   int      `json:"-"`
		HiddenCh chan int `json:"-"`
		hidden   func()
		Empty    int   `json:",omitempty"`
		Zero     point `json:"zero,omitzero"`
		Umlaut   int   `json:"größe"`
	}
	runAll(t, []trial{try("tags", []tagged{{}, {1, 2, nil, func() {}, 4, point{1, 1}, 7}},
		`{"Renamed":1,"größe":0}`, `{"re-named":1,"größe":0,"Hidden":1}`, `{"re-named":1,"größe":0,"zero":{}}`, `{"re-named":1}`)})
}

func TestInferInput(t *testing.T) {
	t.Parallel()
	for _, typ := range []reflect.Type{
		reflect.TypeFor[struct{}](), reflect.TypeFor[list](), reflect.TypeFor[map[string]any](), reflect.TypeFor[dirs](),
	} {
		if s, err := inferInput(typ); err != nil || s.Type != "object" || s.Types != nil {
			t.Errorf("%s: %+v, %v", typ, s, err)
		}
	}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[string](), reflect.TypeFor[[]int](), reflect.TypeFor[*list](), reflect.TypeFor[time.Time](),
		reflect.TypeFor[money](), reflect.TypeFor[any](), reflect.TypeFor[map[string]chan int](),
	} {
		if s, err := inferInput(typ); err == nil {
			t.Errorf("%s is accepted: %+v", typ, s)
		}
	}
}

func TestInferOutput(t *testing.T) {
	t.Parallel()
	for _, typ := range []reflect.Type{
		reflect.TypeFor[string](), reflect.TypeFor[struct{}](), reflect.TypeFor[any](), reflect.TypeFor[json.RawMessage](),
	} {
		if s, err := inferOutput(typ); err != nil || s != nil {
			t.Errorf("%s: %+v, %v, want no schema", typ, s, err)
		}
	}
	if s, err := inferOutput(reflect.TypeFor[*list]()); err != nil || s.Type != "object" {
		t.Errorf("%+v, %v, want an object: nil results are refused", s, err)
	}
}
