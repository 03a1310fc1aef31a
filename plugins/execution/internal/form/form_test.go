package form

import (
	"errors"
	"slices"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		names   []string // of declarations
		imports int
		value   string // of the body; - if there is no body
	}{
		"1 + 2":                        {nil, 0, "1 + 2"},
		"x := 1; x;":                   {nil, 0, "x"},
		"x := 1":                       {nil, 0, ""},
		"func f() {}":                  {[]string{"f"}, 0, "-"},
		"func() int { return 1 }()":    {nil, 0, "func() int { return 1 }()"},
		"f(1)\nfunc f(int) {}":         {[]string{"f"}, 0, "f(1)"},
		"x := 1\nvar y = x\ny":         {nil, 0, "y"},
		"var a, b = 1, 2\na":           {[]string{"a", "b"}, 0, "a"},
		"const (\na = iota\nb\n)":      {[]string{"a", "b"}, 0, "-"},
		"func (p *pair[K]) sum() {}":   {[]string{"pair.sum"}, 0, "-"},
		"package p; import \"fmt\"":    {nil, 1, "-"},
		"import (\"fmt\"; _ \"os\")\n": {nil, 2, "-"},
	} {
		f, err := Parse(text, 3)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		value := "-"
		if b := f.Body; b != nil {
			value = b.Text[b.ValueStart:b.ValueEnd]
		}
		if !slices.Equal(Names(f.Declarations), append([]string{}, want.names...)) || len(f.Imports) != want.imports || value != want.value {
			t.Errorf("%q = %q, %+v, value %q", text, Names(f.Declarations), f.Imports, value)
		}
	}
}

func TestSyntaxErrorsHavePositions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Problem{
		"x :=\n\n 5 +":          {Line: 3, Column: 5},
		"if true {\n  x y\n}":   {Line: 2, Column: 5},
		"1\nfunc f() { x y }\n": {Line: 2, Column: 14},
	} {
		_, err := Parse(text, 3)
		var found Problems
		if !errors.As(err, &found) || found[0].Line != want.Line || found[0].Column != want.Column || found[0].Form != 0 {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestBuildProblems(t *testing.T) {
	t.Parallel()
	output := "# example.com/m\n/zzz_toolhost_form/form2.go:3:4: bad\n\tbecause of this\n/zzz_toolhost_form/form1.go:1:2: worse\nother.go:1:1: elsewhere\n"
	same := func(s string) string { return s }
	got := BuildProblems(output, 2, same)
	want := Problems{{Line: 3, Column: 4, Message: "bad; because of this"}, {Line: 1, Column: 2, Message: "worse", Form: 1}}
	assert.EqualSlices(t, got, want)
	assert.EqualSlices(t, BuildProblems("other.go:1:1: elsewhere\n", 2, same), Problems{{Message: "other.go:1:1: elsewhere"}})
}
