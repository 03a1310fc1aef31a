package jsontree

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// TestParseKeepsTheText checks the order of members and the spelling of numbers and strings.
func TestParseKeepsTheText(t *testing.T) {
	t.Parallel()
	const text = `{"z":1.50e+3,"a":"\u00e9<&","big":1e999999999,"z":[],"n":null,"l":[{"b":true},[-0,"x"],{}]}`
	spaced := strings.NewReplacer(",", " ,\n", ":", "\t:\r\n ", "[", "[ ").Replace(text)
	v, err := Parse([]byte(" " + spaced + "\n"))
	if err != nil || string(Encode(v)) != text {
		t.Errorf("%s, %v", Encode(v), err)
	}
	for _, scalar := range []string{`"a,b"`, `12`, `null`, `false`} {
		if v, err := Parse([]byte(" " + scalar + " ")); err != nil || string(Encode(v)) != scalar {
			t.Errorf("%s: %s, %v", scalar, Encode(v), err)
		}
	}
	for _, bad := range []string{``, ` `, `{`, `{}x`, `{"a":}`, `{"a",1}`, strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)} {
		if v, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%.20s is %s", bad, Encode(v))
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"a":[1, {"b":"c"}], "é": null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := Parse(text)
		if (err == nil) != json.Valid(text) {
			t.Fatalf("%q: %v", text, err)
		}
		again, err2 := Parse(Encode(v))
		if err == nil && (err2 != nil || !Equal(v, again)) {
			t.Fatalf("%q becomes %q", text, Encode(v))
		}
	})
}

func TestSet(t *testing.T) {
	t.Parallel()
	o := Of("a", "<é>\"")
	o.Set("b", []string{"x", "y"})
	o.Set("c", false)
	o.Set("a", Of("d", true))
	o.Rename("b", "e")
	if got := string(Encode(o)); got != `{"a":{"d":true},"e":["x","y"],"c":false}` || !o.Drop("c", "x") || o.Drop("c") {
		t.Error(got)
	}
	var none *Object
	if none.Has("a") || none.Get("a") != nil || none.Object("a").Object("b").Text("c") != "" || none.All() != nil {
		t.Error("a nil object has members")
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	root := require.Must(Parse([]byte(`{"a/b":{"~ %":[0,{"":1}]}}`)))(t)
	names := []string{"a/b", "~ %", "1", ""}
	ref := Reference(names)
	if back, ok := Tokens(ref); ref != "#/a~1b/~0%20%25/1/" || !ok || !slices.Equal(back, names) || !Is(Follow(root, ref), "1") {
		t.Errorf("%s, %q", ref, back)
	}
	assert.Equalf(t, Follow(root, "#"), root, "# is not the document")
	for _, ref := range []string{"", "a", "/a~1b", "x#/a~1b", "#/%", "#/a~1b/~0 %25/2", "#/a~1b/x", "#/a~1b/~0 %25/-1", "#/a~1b/~0 %25/0/0"} {
		if v := Follow(root, ref); v != nil {
			t.Errorf("%q leads to %s", ref, Encode(v))
		}
	}
}

// TestWalk checks that each way to hold a schema is followed, and values that only look like
// schemas are not.
func TestWalk(t *testing.T) {
	t.Parallel()
	const text = `{"title":"root","properties":{"a":{"title":"a"},"properties":true},"items":[{"title":"b"}],"not":{"title":"c"},
		"anyOf":[{"title":"d","items":{"title":"e"}}],"dependencies":{"x":["y"],"z":{"title":"f"}},"$defs":{"g":{"title":"g"}},
		"const":{"title":"no"},"enum":[{"not":{"title":"no"}}],"default":{"properties":{"no":{"title":"no"}}},"unknown":{"title":"no"}}`
	root := require.Must(Parse([]byte(text)))(t)
	var titles []string
	Walk(root, func(o *Object) { titles = append(titles, o.Text("title")) })
	assert.Equal(t, strings.Join(titles, " "), "a b c e d f g root")
	if names := PropertyNames([]byte(text)); len(names) != 2 || !names["a"] || !names["properties"] {
		t.Errorf("the properties are %v", names)
	}
	Each(root, func(in string, o *Object) {
		if in == "not" {
			o.Drop("title")
		}
	})
	if left := strings.Count(string(Encode(root)), `"title"`); left != strings.Count(text, `"title"`)-2 {
		t.Errorf("%s", Encode(root))
	}
}
