package setting

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/test/assert"
)

func patterns() (out []string) {
	for _, k := range kinds() {
		out = append(out, k.Pattern, k.Not)
	}
	return slices.Compact(slices.Sorted(slices.Values(slices.DeleteFunc(out, func(p string) bool { return p == "" }))))
}

// What matches is what package regexp says, for all patterns.
func FuzzMatches(f *testing.F) {
	compiled := map[string]*regexp.Regexp{}
	for _, p := range patterns() {
		compiled[p] = regexp.MustCompile(p)
	}
	for _, text := range []string{
		"", "a", "A", "_", ".", "-x", "fs.read", "fs.*", "10m", "1.5h30m", "1h1h1h1h1h1h", "1h1h1h1h1h1h1h", "10/1m", "10/m", "10/h30s", "1/",
		"64MiB", "64 MiB", "64mib", "fs:read", "fs:", "exec", "none", "declared", "cache", "..", "~", "TOOLHOST_PLUGIN", "TOOLHOST_PLUGINS",
		"PLUGIN_X", "*", "partner/app", "partner/", "region", "a=b", "a b", "RW" + strings.Repeat("A", 54), "oci://ghcr.io/acme/*",
		"127.0.0.1:9464", "[::1]:1", "128.0.0.1:1", ":7411", "[fe80::1]:80", "https://tools.example.com/mcp", "https://login.example.com",
		"http://localhost:8080/x", "http://example.com", "https://app.example.com", "$", "${URL}", "nats://a,tls://b/", "nats://a,,", "sub",
		"U" + strings.Repeat("A", 55), "1.4.0", "sha256:0123abcd", "a\x00", "a\u0085b", "ü", "\u2028", "a\nb", "a\n",
		strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 65), strings.Repeat("a", 128), strings.Repeat("a", 129),
		strings.Repeat("a", 253), strings.Repeat("a", 254), strings.Repeat("é", 200), "https://" + strings.Repeat("a.", 130) + "/x",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			t.Skip("a file with it is refused")
		}
		for p, re := range compiled {
			assert.Equalf(t, Matches(p, text), re.MatchString(text), "%q and %q", p, text)
		}
	})
}

// A text as long as a file is read without much stack.
func TestLongTextsMatch(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 1<<19)
	for text, want := range map[string]bool{long: true, long + "\x00": false} {
		if Matches(visible, text) != want {
			t.Errorf("%d bytes do not match", len(text))
		}
	}
}
