package form

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	f, err := Parse([]byte(`{"$schema":"x","type":"object","title":"T","properties":{
		"z":{"type":"string","title":"Zed","minLength":1,"format":"email"},
		"n":{"type":"integer","description":"how many","default":3,"minimum":0},
		"b":{"type":"boolean","default":null},
		"old":{"type":"string","enum":["a","b"],"enumNames":["A"]},
		"new":{"type":"string","oneOf":[{"const":"x","title":"X"},{"const":"y"}]},
		"many":{"type":"array","items":{"type":"string","enum":["p"]}},
		"a":{"type":"array","items":{"anyOf":[{"const":"q","title":"Q"}]}}},
		"required":["a","z"],"additionalProperties":false}`))
	want := []Field{
		{Name: "z", Title: "Zed", Type: "string", Required: true},
		{Name: "n", Description: "how many", Type: "integer", Default: []byte("3")},
		{Name: "b", Type: "boolean"},
		{Name: "old", Type: "string", Choices: []Choice{{"a", "A"}, {"b", ""}}},
		{Name: "new", Type: "string", Choices: []Choice{{"x", "X"}, {"y", ""}}},
		{Name: "many", Type: "string", List: true, Choices: []Choice{{"p", ""}}},
		{Name: "a", Type: "string", List: true, Choices: []Choice{{"q", "Q"}}, Required: true},
	}
	if err != nil || !reflect.DeepEqual(f.Fields, want) {
		t.Errorf("got %+v, %v", f.Fields, err)
	}
	if f, err := Parse(nil); err != nil || len(f.Fields) != 0 {
		t.Errorf("no schema: %+v, %v", f, err)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	var many, choices []string
	for i := range maxFields + 1 {
		many = append(many, fmt.Sprintf(`"f%d":{"type":"string"}`, i))
	}
	for i := range maxChoices + 1 {
		choices = append(choices, fmt.Sprintf(`"%d"`, i))
	}
	object := func(field string) string { return `{"type":"object","properties":{"f":` + field + `}}` }
	for _, bad := range []string{
		`{`, `[]`, `true`, `{}`, `{"type":"string"}`, `{"type":["object"]}`,
		`{"type":"object","properties":[]}`, `{"type":"object","properties":{},"required":["f"]}`,
		object(`true`), object(`{}`), object(`{"type":"object"}`), object(`{"type":["string","null"]}`), object(`{"$ref":"#"}`),
		object(`{"type":"array"}`), object(`{"type":"array","items":{"type":"string"}}`), object(`{"type":"array","items":{"type":"object"}}`),
		object(`{"type":"string","title":"\u202e"}`), object(`{"type":"string","enum":["a\u200b"]}`), object("{\"type\":\"string\",\"description\":\"\\u001b[2J\"}"),
		object(`{"type":"integer","enum":[1]}`), object(`{"type":"string","enum":[1]}`), object(`{"type":"string","oneOf":[{"title":"x"}]}`),
		object(`{"type":"string","enum":[` + strings.Join(choices, ",") + `]}`),
		`{"type":"object","properties":{` + strings.Join(many, ",") + `}}`,
		object(`{"type":"string","description":"` + strings.Repeat("x", MaxSchema) + `"}`),
		strings.Repeat(`{"type":"object","properties":{"f":`, 200),
	} {
		if f, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%.80s: %+v", bad, f)
		}
	}
}

func TestCheckMessage(t *testing.T) {
	t.Parallel()
	for message, ok := range map[string]bool{
		"Which one?": true, "": false, " \n": false, "\xff": false,
		strings.Repeat("x", MaxMessage): true, strings.Repeat("x", MaxMessage+1): false,
	} {
		if err := Check(message, nil); (err == nil) != ok {
			t.Errorf("%.20q: %v", message, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"type":"array","items":{"enum":["x"]}}},"required":["a"]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := Parse(b)
		if err == nil && len(got.Fields) > maxFields {
			t.Errorf("%d fields", len(got.Fields))
		}
	})
}
