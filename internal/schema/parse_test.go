package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{``, `malformed JSON at byte 0: expected a value`},
		{` `, `malformed JSON at byte 1: expected a value`},
		{`{"a": }`, `malformed JSON at byte 6: expected a value`},
		{`nul`, `malformed JSON at byte 0: expected a value`},
		{`{a:1}`, `malformed JSON at byte 1: expected a key`},
		{`{"a" 1}`, `malformed JSON at byte 5: expected ':'`},
		{`{"a":1,}`, `malformed JSON at byte 7: expected a key`},
		{`{"a":1`, `malformed JSON at byte 6: expected ',' or '}'`},
		{`[1 2]`, `malformed JSON at byte 3: expected ',' or ']'`},
		{`[1,]`, `malformed JSON at byte 3: expected a value`},
		{`{} x`, `malformed JSON at byte 3: text after the value`},
		{`{}{}`, `malformed JSON at byte 2: text after the value`},
		{`"a`, `malformed JSON at byte 2: unterminated string`},
		{`"a\`, `malformed JSON at byte 3: unterminated string`},
		{`"\n` + "\n" + `"`, `malformed JSON at byte 3: control character in a string`},
		{"\"\t\"", `malformed JSON at byte 1: control character in a string`},
		{`"\x"`, `malformed JSON at byte 1: unknown escape in a string`},
		{`"\u12g4"`, `malformed JSON at byte 1: expected four hexadecimal digits after \u`},
		{`"\u12`, `malformed JSON at byte 1: expected four hexadecimal digits after \u`},
		{`-`, `malformed JSON at byte 1: expected a digit`},
		{`01`, `malformed JSON at byte 1: text after the value`},
		{`1.`, `malformed JSON at byte 2: expected a digit`},
		{`.5`, `malformed JSON at byte 0: expected a value`},
		{`+1`, `malformed JSON at byte 0: expected a value`},
		{`1e`, `malformed JSON at byte 2: expected a digit`},
		{`1e+`, `malformed JSON at byte 3: expected a digit`},
		{"\ufeff{}", `malformed JSON at byte 0: expected a value`},
		{"{\"a\": \"\xff\"}", `invalid UTF-8 at byte 7`},
		{"\"\xed\xa0\x80\"", `invalid UTF-8 at byte 1`},
		{`"\ud83d"`, `malformed JSON at byte 1: \ud83d is half of a surrogate pair`},
		{`{"a":"\ud83d\u0041"}`, `malformed JSON at byte 6: \ud83d is half of a surrogate pair`},
		{`"\ud83d\ud83d\ude00"`, `malformed JSON at byte 1: \ud83d is half of a surrogate pair`},
		{`"\uDE00x"`, `malformed JSON at byte 1: \uDE00 is half of a surrogate pair`},
		{`{"\ud800":1}`, `malformed JSON at byte 2: \ud800 is half of a surrogate pair`},
		{`{"a":1,"a":2}`, `duplicate key "a"`},
		{`{"a":1,"\u0061":2}`, `duplicate key "a"`},
		{`{"opts":{"items":[0,{"x y":{"a":1,"b":2,"a":3}}]}}`, `duplicate key "a" in opts.items[1]["x y"]`},
		{`[[{"a":1,"a":1}]]`, `duplicate key "a" in [0][0]`},
		{strings.Repeat("[", 129) + strings.Repeat("]", 129), `nested deeper than 128 levels`},
		{strings.Repeat(`{"a":`, 129) + "1" + strings.Repeat("}", 129), `nested deeper than 128 levels`},
		{strings.Repeat("[", 1<<20), `nested deeper than 128 levels`},
		{`[1, ` + strings.Repeat("9", 101) + `]`, `the number at byte 4 has 101 characters, more than 100`},
		{`1e1001`, `the number at byte 0 has an exponent beyond 1000`},
		{`1E-1001`, `the number at byte 0 has an exponent beyond 1000`},
		{`1e99999999999999999999`, `the number at byte 0 has an exponent beyond 1000`},
	} {
		_, err := parse([]byte(c.text), maxValueLevels, nil)
		if err == nil || err.Error() != c.want {
			t.Errorf("%.40q: %v, want %s", c.text, err, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want any
	}{
		{` { } `, map[string]any{}},
		{`[]`, []any{}},
		{`[true,false,null]`, []any{true, false, nil}},
		{`-0.5e+10`, json.Number("-0.5e+10")},
		{`1e-1000`, json.Number("1e-1000")},
		{`1e0001000`, json.Number("1e0001000")},
		{strings.Repeat("9", 100), json.Number(strings.Repeat("9", 100))},
		{`{"":"","é":"\u00e9\"\\\/\b\f\n\r\t"}`, map[string]any{"": "", "é": "é\"\\/\b\f\n\r\t"}},
		{`"\ud83d\ude00"`, "😀"},
		{`"\ufffd"`, "\ufffd"},
	} {
		got, err := parse([]byte(c.text), maxValueLevels, nil)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %#v, %v, want %#v", c.text, got, err, c.want)
		}
	}
	deep := strings.Repeat("[", 128) + strings.Repeat("]", 128)
	if _, err := parse([]byte(deep), maxValueLevels, nil); err != nil {
		t.Errorf("128 levels: %v", err)
	}
}

// TestParseCopies checks that the parser does not retain the caller's bytes,
// which may be a reused buffer.
func TestParseCopies(t *testing.T) {
	t.Parallel()
	raw := []byte(`{"key":"value"}`)
	v := require.Must(parse(raw, maxValueLevels, nil))(t)
	clear(raw)
	if got := v.(map[string]any)["key"]; got != "value" {
		t.Errorf("got %q after the buffer was cleared", got)
	}
}

func TestDecimal(t *testing.T) {
	t.Parallel()
	ascending := []string{"-1e400", "-11", "-10.5", "-1e1", "-0.1", "0", "1e-1000", "0.09", "0.1", "0.11", "1", "9", "10", "12", "123", "1e3", "1001", "1e1000"}
	for i, a := range ascending {
		for j, b := range ascending {
			got := decimalOf(json.Number(a)).compare(decimalOf(json.Number(b)))
			if got > 0 != (i > j) || got < 0 != (i < j) {
				t.Errorf("%s against %s: %d", a, b, got)
			}
		}
	}
	for _, same := range [][]string{{"0", "-0", "0.0", "0e5"}, {"1", "1.0", "10e-1", "0.1E1", "100e-0002"}, {"-25", "-2.5e1"}} {
		for _, s := range same {
			assert.Equalf(t, decimalOf(json.Number(s)), decimalOf(json.Number(same[0])), "%s is not %s", s, same[0])
		}
	}
	for text, want := range map[string]bool{"3": true, "3.0": true, "1.5": false, "15e-1": false, "150e-1": true, "0.0": true, "1e-1000": false} {
		assert.Equalf(t, decimalOf(json.Number(text)).integral(), want, "%s integral", text)
	}
}

// FuzzParse compares the parser with encoding/json: both must read the same
// values from the same texts, except those that the parser explicitly refuses.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `""`, `0`, `-0`, `null`, `true`, `{"a":{"b":[1,2.5e-3,"x"]}}`, `{"a":1,"a":2}`, `"\ud83d\ude00"`, `"\ud83d\u0041"`, `"\uDE00"`,
		`[1,]`, `{"a"}`, `01`, `1.`, `1e1001`, "\"\x7f\"", "\"\xff\"", " \t\r\n1", `"\/"`, `[[[[]]]]`, `{"":{"":""}}`, `1E+5`, `"\u0000"`, "\u2028", `"é\u00e9"`, `tru`, `"\`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := parse(raw, maxValueLevels, nil)
		if err != nil {
			var refusal *fault
			if !errors.As(err, &refusal) {
				t.Fatalf("a strange error: %v", err)
			}
			if !refusal.unsupported && json.Valid(raw) {
				t.Fatalf("%q: %v, but encoding/json takes it", raw, err)
			}
			return
		}
		if !json.Valid(raw) {
			t.Fatalf("%q is taken, but not by encoding/json", raw)
		}
		var want any
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		require.NoError(t, d.Decode(&want))
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %#v, encoding/json has %#v", raw, got, want)
		}
	})
}

func TestParseBoundsValues(t *testing.T) {
	t.Parallel()
	list := func(n int) []byte { return []byte("[" + strings.Repeat("0,", n-2) + "0]") }
	if _, err := parse(list(maxValues), 10, nil); err != nil {
		t.Errorf("%d values: %v", maxValues, err)
	}
	if _, err := parse(list(maxValues+1), 10, nil); err == nil || !strings.Contains(err.Error(), "more than 1048576 values") {
		t.Errorf("%d values: %v", maxValues+1, err)
	}
}
