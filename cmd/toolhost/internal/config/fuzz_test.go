package config

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever a file holds, it is taken or refused with places that are in it, and what
// is taken fits the JSON Schema too.
func FuzzParse(f *testing.F) {
	for _, file := range valid {
		f.Add([]byte(file))
	}
	for file := range invalid {
		if len(file) < 1000 {
			f.Add([]byte(file))
		}
	}
	f.Add(Initial())
	fits := compiled(f)
	f.Fuzz(func(t *testing.T, content []byte) {
		c, err := Parse("/dir/toolhost.yaml", content)
		if err == nil {
			if _, err := json.Marshal(c); err != nil {
				t.Errorf("%q cannot be shown: %v", content, err)
			}
			if err := bySchema(t, fits, string(content)); err != nil {
				t.Errorf("%q does not fit the schema: %v", content, err)
			}
			if Diff(c, c).any() {
				t.Errorf("%q is not like itself", content)
			}
			return
		}
		var e *Error
		if !errors.As(err, &e) || len(e.Problems) == 0 || !utf8.ValidString(err.Error()) {
			t.Fatalf("%q: %v", content, err)
		}
		text, _ := textOf(content)
		lines := strings.Split(text, "\n")
		for _, p := range e.Problems {
			if p.Line < 1 || p.Line > len(lines) || p.Column < 1 || p.Column > utf8.RuneCountInString(lines[p.Line-1])+1 {
				t.Errorf("%q: %d:%d is not in it: %s", content, p.Line, p.Column, p.Message)
			}
		}
	})
}
