package schema

import (
	"regexp/syntax"
	"strings"
	"testing"
	"time"
)

// TestParseWork checks that parsing an expression does not take much longer
// than the estimated steps.
func TestParseWork(t *testing.T) {
	t.Parallel()
	const step = 2500 * time.Nanosecond
	for _, expr := range []string{
		``, `a`, `^[a-z0-9_.-]+$`, `(?i)^[a-z-9]+$`, strings.Repeat(`(\pL{999})?`, 20), strings.Repeat(`\pL`, 80), strings.Repeat(`\P{Greek}`, 28),
		"[" + strings.Repeat(`\pL`, 80) + "]", "(?i)[" + strings.Repeat(`\pL`, 80) + "]", "[^" + strings.Repeat(`\PL`, 80) + "]", strings.Repeat(`\pL|`, 64),
		wideFolds(250), "(?i:[" + strings.Repeat(`\x01-\x{fffe}`, 18) + "])", "(?is)[" + strings.Repeat(`!-\x{1ffff}`, 20) + "]",
		strings.Repeat("(?i)[a-\u017f]", 20), strings.Repeat("(", 120) + "a" + strings.Repeat(")*", 60) + strings.Repeat(")", 60),
		strings.Repeat(`(a{2}){2}`, 28), strings.Repeat(`[^a]|`, 50), strings.Repeat(`aaaaaaab|aaaaaaac|`, 14), strings.Repeat(`[[:^alpha:]]`, 20),
		"(?i)[" + strings.Repeat(`[:^ascii:]`, 24) + "]", "(?i)" + strings.Repeat(`[^k]`, 60), strings.Repeat(`(?:a|b)`, 36),
	} {
		within(t, time.Duration(parseWork(expr))*step+time.Millisecond, func() {
			_, _ = syntax.Parse(expr, syntax.Perl)
		})
	}
	if n := parseWork(`(?i)^[a-z0-9_-]+(\.[a-z0-9-]+)*@\p{L}+$`); n > 2*parseClass {
		t.Errorf("an address costs %d steps", n)
	}
}
