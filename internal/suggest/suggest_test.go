package suggest

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
)

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"same", "same", 0}, {"fs.raed", "fs.read", 1},
		{"kitten", "sitting", 3}, {"ä", "a", 1}, {"ca", "abc", 3}, {"flaw", "lawn", 2},
		{strings.Repeat("x", 1<<20), strings.Repeat("x", 64) + "y", 0},
	} {
		assert.Equalf(t, Distance(c.a, c.b), c.want, "Distance(%.10q, %.10q)", c.a, c.b)
		assert.Equalf(t, Distance(c.b, c.a), c.want, "Distance(%.10q, %.10q)", c.b, c.a)
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"fs.list", "fs.read", "fs.write", "describe_symbol", "list_package_symbols"}
	for _, c := range []struct{ name, want string }{
		{"fs.raed", "fs.read"}, {"FS.Read", "fs.read"}, {"read", "fs.read"}, {"fs.wriet", "fs.write"},
		{"describe", "describe_symbol"}, {"symbol", "describe_symbol list_package_symbols"}, {"zzz", ""}, {"", ""},
	} {
		assert.Equalf(t, strings.Join(Nearest(c.name, names, 3), " "), c.want, "Nearest(%q)", c.name)
	}
	if got := Nearest("symbol", names, 1); len(got) != 1 {
		t.Errorf("the limit is not kept: %q", got)
	}
}
