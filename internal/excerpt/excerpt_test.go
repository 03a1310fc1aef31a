package excerpt

import (
	"fmt"
	"strings"
	"testing"
)

// No member hides another one, or what is missing of it, behind its length.
func TestOf(t *testing.T) {
	t.Parallel()
	pad := strings.Repeat("x", 5000)
	text, missing := Of([]byte(`{"pad":"`+pad+`","path":"/etc/`+"\u202e"+`","deep":{"pad":"`+pad+`"},"force":true}`), 1000)
	if want := "9030 bytes of arguments are not shown, of: pad, deep"; missing != want {
		t.Errorf("missing is %q, want %q", missing, want)
	}
	for _, want := range []string{"{\n  \"pad\": \"xxx", `  "path": "/etc/\u202e",`, "\n  \"force\": true\n}", `  "deep": {"pad":"xx`, "x…,\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("it shows %s, without %s", text, want)
		}
	}
	if len(text) > 1100 {
		t.Errorf("it shows %d bytes", len(text))
	}
	if text, missing = Of([]byte(`{"a" :`+strings.Repeat(" ", 5000)+`1}`), 1000); text != "{\n  \"a\": 1\n}" || missing != "" {
		t.Errorf("blanks make it %q, %q", text, missing)
	}
	if text, missing = Of([]byte(`["`+pad+`"]`), 1000); len(text) != 1000 || missing != "4004 bytes of arguments are not shown" {
		t.Errorf("a list has %d bytes, and %q", len(text), missing)
	}
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf(`"m%d":"%s"`, i, pad))
	}
	_, missing = Of([]byte("{"+strings.Join(many, ",")+"}"), 1000*leastShown/20)
	if !strings.HasSuffix(missing, ", m18, m19, 80 members more") {
		t.Errorf("of many members, missing is %s", missing)
	}
}
