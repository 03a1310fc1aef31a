package form

import (
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
)

func TestRead(t *testing.T) {
	t.Parallel()
	choices := []Choice{{"s", "Small"}, {"2", ""}, {"L", "Large one"}}
	for _, c := range []struct {
		f          Field
		text, want string // no want: it is refused
	}{
		{Field{Type: "string"}, ` a "b" `, `"a \"b\""`}, {Field{Type: "string"}, "", `""`},
		{Field{Type: "integer"}, " -12 ", "-12"}, {Field{Type: "integer"}, "9007199254740993", "9007199254740993"},
		{Field{Type: "integer"}, "1.5", ""}, {Field{Type: "integer"}, "01", ""}, {Field{Type: "integer"}, "1}", ""},
		{Field{Type: "number"}, "1.5e3", "1.5e3"}, {Field{Type: "number"}, ".5", ""}, {Field{Type: "number"}, "NaN", ""},
		{Field{Type: "boolean"}, "YES", "true"}, {Field{Type: "boolean"}, "n", "false"}, {Field{Type: "boolean"}, "", ""},
		{Field{Type: "string", Choices: choices}, "s", `"s"`}, {Field{Type: "string", Choices: choices}, "small", `"s"`},
		{Field{Type: "string", Choices: choices}, "2", `"2"`}, {Field{Type: "string", Choices: choices}, "3", `"L"`},
		{Field{Type: "string", Choices: choices}, "l", `"L"`}, {Field{Type: "string", Choices: choices}, "4", ""},
		{Field{Type: "string", Choices: choices}, "0", ""},
		{Field{Type: "string", List: true, Choices: choices}, "s, Large one", `["s","L"]`},
		{Field{Type: "string", List: true, Choices: choices}, "s,", ""},
	} {
		got, err := c.f.Read(c.text)
		if string(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%+v: %q is %s, %v; want %s", c.f, c.text, got, err, c.want)
		}
	}
	for in, want := range map[string]string{"": "", `"x"`: "x", `["a","b"]`: "a, b", "true": "yes", "false": "no", "1.5": "1.5"} {
		assert.Equalf(t, (Field{Default: []byte(in)}).DefaultText(), want, "the default %s", in)
	}
}
