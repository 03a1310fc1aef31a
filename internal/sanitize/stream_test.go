package sanitize_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

func TestPieces(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "a", "abcd", "aäöü世界🙂", strings.Repeat("🙂", 50), strings.Repeat("\xff", 50), strings.Repeat("\x80", 9)} {
		for size := utf8.UTFMax; size < 12; size++ {
			pieces := slices.Collect(sanitize.Pieces(s, size))
			assert.Equalf(t, strings.Join(pieces, ""), s, "the pieces of %q are %q", s, pieces)
			for _, p := range pieces {
				if len(p) > size || p == "" || utf8.ValidString(s) && !utf8.ValidString(p) {
					t.Errorf("%q is not a piece of %d bytes", p, size)
				}
			}
		}
	}
}

func TestWriteText(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "plain", strings.Repeat("世\x01\u202e", 20000)} {
		var b strings.Builder
		if err := sanitize.WriteText(&b, s); err != nil || b.String() != sanitize.Text(s) {
			t.Errorf("%.40q becomes %.40q, %v", s, b.String(), err)
		}
	}
}

// Whatever way JSON is cut when it is written, its value stays and all of it is printable.
func TestJSON(t *testing.T) {
	t.Parallel()
	in := "{\n\t\"a\\u009b\": \"\u009b2J \u202e \x7f \U000e0041 世界 🙂 é \u00a0\",\r\n\"b\": [\"\xff\", \"\xe4\xb8\"]}\n"
	for size := 1; size <= len(in); size++ {
		var b strings.Builder
		w := sanitize.JSON(&b)
		for rest := in; rest != ""; rest = rest[min(size, len(rest)):] {
			if n, err := w.Write([]byte(rest[:min(size, len(rest))])); err != nil || n != min(size, len(rest)) {
				t.Fatal(n, err)
			}
		}
		got := b.String()
		var was, is any
		require.NoError(t, json.Unmarshal([]byte(in), &was))
		if err := json.Unmarshal([]byte(got), &is); err != nil || !reflect.DeepEqual(was, is) {
			t.Errorf("in parts of %d the value is %q, want %q, %v", size, is, was, err)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) && !unicode.IsSpace(r) || r == '\u00a0' }) {
			t.Errorf("in parts of %d it writes %q", size, got)
		}
		assert.Containsf(t, got, `\u009b2J \u202e \u007f \udb40\udc41 世界 🙂 é \u00a0`, "in parts of %d it writes", size)
	}
}
