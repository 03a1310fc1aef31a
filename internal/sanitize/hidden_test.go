package sanitize

import (
	"strings"
	"testing"
)

func TestHidden(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "plain\n\ttext", "schön, 世界, ✓ — “quoted” … 1 000 €", "⚠️ careful", "❤️\u200d🔥", "👨\u200d👩\u200d👧", "👩🏽\u200d💻", "1️⃣ first", "می\u200cخواهم", "क्\u200dष", "হ্যাঁ", "\u0600\u0661", "e\u0301",
	} {
		if r, found := Hidden(s); found {
			t.Errorf("%q hides %U", s, r)
		}
	}
	for want, texts := range map[rune][]string{
		'\x1b': {"\x1b[2J"}, '\r': {"a\r\nb"}, '\x7f': {"\x7f"}, '\u0085': {"\u0085"},
		'\u200b': {"a\u200bb"}, '\u200e': {"\u200e"}, '\u200f': {"x\u200f"}, '\u2028': {"\u2028"}, '\u2029': {"\u2029"}, '\u061c': {"\u061c"},
		'\u202a': {"\u202a"}, '\u202e': {"gpj\u202eexe"}, '\u2060': {"\u2060"}, '\u2064': {"\u2064"}, '\u2066': {"\u2066"}, '\u2069': {"\u2069"}, '\u206f': {"\u206f"},
		'\ufeff': {"\ufeffx"}, '\u00ad': {"a\u00adb"}, '\u034f': {"\u034f"}, '\u115f': {"\u115f"}, '\u3164': {"\u3164"}, '\uffa0': {"\uffa0"},
		'\u180e': {"\u180e"}, '\ufff9': {"\ufff9"}, '\U000e0001': {"\U000e0001"}, '\U000e0041': {"x\U000e0041", "\U0001f3f4\U000e0041"}, '\U000e0100': {"葛\U000e0100"},
		'\ufe00': {"a\ufe00"}, '\ufe0f': {"a\ufe0f", "⚠\ufe0f\ufe0f", " \ufe0f", "\ufe0f"},
		'\u200d': {"a\u200db", "\u200d", "क्\u200d", "क\u200d\u200dष", "👨\u200d\ufe0f"}, '\u200c': {"\u200cx", "می\u200c خ", "می\u200c\u200dخ"},
	} {
		for _, s := range texts {
			if r, found := Hidden(s); !found || r != want {
				t.Errorf("%q: %U, %v, want %U", s, r, found, want)
			}
			shown := Text(s)
			if r, found := Hidden(shown); found {
				t.Errorf("%q is shown as %q, which hides %U", s, shown, r)
			}
			if strings.ContainsRune(shown, want) && want != '\ufe0f' {
				t.Errorf("%q is shown as %q", s, shown)
			}
		}
	}
}
