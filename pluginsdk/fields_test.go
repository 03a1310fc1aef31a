package pluginsdk

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type plain struct {
	Text   string `json:"text,omitempty"`
	Level  small  `json:"level,omitempty"`
	Lines  int    `json:"lines"`
	Signed int8
	All    bool    `json:"all"`
	Ratio  float64 `json:"ratio"`
	Hidden string  `json:"-"`
	Quoted int     `json:"quoted,string"`
	lower  string  //nolint:unused // encoding/json does not see it
}

type small uint8

// What decode takes, encoding/json takes, and makes the same of it.
func FuzzFields(f *testing.F) {
	known, all := fieldsOf(reflect.TypeFor[plain]())
	if len(known) != 5 || all {
		f.Fatalf("known are %v, all: %v", known, all)
	}
	for doc, taken := range map[string]bool{
		`{}`: true, ` { } `: true, `{"text":"a b","lines":-7,"level":255,"Signed":-128,"all":true}`: true,
		"{\n\t\"text\" : \"é\" , \"all\":false\r}": true, `{"lines":1,"lines":2}`: true, `{"lines":-0}`: true,
		`{"lines":9223372036854775807}`: true,

		``: false, `{`: false, `{"text":"a"`: false, `{"text":"a",}`: false, `{"text":"a"}x`: false, `{,}`: false, `null`: false,
		`[]`: false, `{"text"}`: false, `{"text":a}`: false, `{"text":null}`: false, `{"Text":"a"}`: false, `{"text":"\n"}`: false,
		`{"te\u0078t":"a"}`: false, "{\"text\":\"\xff\"}": false, "{\"text\":\"\t\"}": false, `{"lines":01}`: false,
		`{"lines":-01}`: false, `{"lines":-}`: false, `{"lines":1.0}`: false, `{"lines":1e2}`: false, `{"lines":9223372036854775808}`: false,
		`{"lines":""}`: false, `{"level":256}`: false, `{"level":-1}`: false, `{"Signed":-129}`: false, `{"all":truex}`: false,
		`{"all":1}`: false, `{"ratio":1}`: false, `{"Hidden":"a"}`: false, `{"quoted":"1"}`: false, `{"lower":"a"}`: false, `{"other":1}`: false,
		`{"text":{}}`: false, `{"text":"a" "all":true}`: false, "{\"text\":\"a\"\v}": false,
	} {
		var got plain
		if known.decode([]byte(doc), reflect.ValueOf(&got).Elem()) != taken {
			f.Errorf("%q is taken: %v", doc, !taken)
		}
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		var got, want plain
		if !known.decode([]byte(doc), reflect.ValueOf(&got).Elem()) {
			return
		}
		if err := json.Unmarshal([]byte(doc), &want); err != nil || got != want {
			t.Errorf("%q is %+v, to encoding/json %+v, %v", doc, got, want, err)
		}
	})
}

type number struct{ X, Y int }

func (n *number) UnmarshalText(b []byte) error { n.X = len(b); return nil }

// Types that encoding/json knows more about than their fields, and fields of such types, are left to it.
func TestFieldsOfOtherTypes(t *testing.T) {
	t.Parallel()
	type embedded struct{ plain }
	text := reflect.TypeFor[string]()
	twice := reflect.StructOf([]reflect.StructField{ // of which encoding/json takes neither
		{Name: "A", Type: text, Tag: `json:"a"`}, {Name: "B", Type: text, Tag: `json:"a"`},
	})
	for _, typ := range []reflect.Type{
		reflect.TypeFor[number](), reflect.TypeFor[embedded](), twice, reflect.TypeFor[map[string]string](), reflect.TypeFor[*plain](),
	} {
		if known, all := fieldsOf(typ); known != nil || all {
			t.Errorf("%v: %v", typ, known)
		}
	}
	type inside struct {
		N number
		J json.Number
		P *string
		S string
	}
	if known, all := fieldsOf(reflect.TypeFor[inside]()); len(known) != 1 || all {
		t.Errorf("known are %v, all: %v", known, all)
	}
}

func BenchmarkFields(b *testing.B) {
	doc := []byte(`{"lines": 12345, "text": "` + strings.Repeat("a", 52) + `"}`)
	known, _ := fieldsOf(reflect.TypeFor[plain]())
	b.Run("fields", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			v := new(plain)
			if !known.decode(doc, reflect.ValueOf(v).Elem()) {
				b.Fatal("not taken")
			}
		}
	})
	b.Run("json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			require.NoError(b, json.Unmarshal(doc, new(plain)))
		}
	})
}

// Defaults are the same in each call, whatever a call did with its own.
func TestFieldsWithDefaults(t *testing.T) {
	t.Parallel()
	type in struct {
		Text string `json:"text"`
		Most int    `json:"most,omitempty" default:"7"`
		All  bool   `json:"all,omitempty" default:"true"`
	}
	type listed struct {
		Text string   `json:"text"`
		Most int      `json:"most,omitempty" default:"7"`
		List []string `json:"list,omitempty" default:"a,b"`
	}
	flat := Func("flat", "Tells.", func(_ context.Context, v in) (string, error) { return fmt.Sprint(v), nil },
		Preview(func(_ context.Context, v in) (tool.Result, error) { return tool.Text(fmt.Sprint(v)), nil }))
	list := Func("list", "Tells and changes.", func(_ context.Context, v listed) (string, error) {
		defer func() { v.List[0] = "changed" }()
		return fmt.Sprint(v), nil
	})
	for range 2 {
		for args, want := range map[string]string{
			`{"text":"x"}`: "{x 7 true}", `{"text":"x","most":0,"all":false}`: "{x 0 false}", `{"text":"\n","most":3}`: "{\n 3 true}",
		} {
			for _, h := range []tool.Handler{flat.Handler, flat.Preview} {
				if got, err := h(t.Context(), tool.Call{Arguments: []byte(args)}); err != nil || got.Text() != want {
					t.Errorf("%s: got %q, %v, want %q", args, got.Text(), err, want)
				}
			}
		}
		if got, err := list.Handler(t.Context(), tool.Call{Arguments: []byte(`{"text":"x","most":1}`)}); err != nil || got.Text() != "{x 1 [a b]}" {
			t.Errorf("got %q, %v", got.Text(), err)
		}
	}
}
