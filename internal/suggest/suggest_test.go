package suggest

import (
	"strings"
	"testing"
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
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%.10q, %.10q) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := Distance(c.b, c.a); got != c.want {
			t.Errorf("Distance(%.10q, %.10q) = %d, want %d", c.b, c.a, got, c.want)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"fs.list", "fs.read", "fs.write", "describe_symbol", "list_package_symbols"}
	for _, c := range []struct{ name, want string }{
		{"fs.raed", "fs.read"}, {"FS.Read", "fs.read"}, {"read", "fs.read"}, {"fs.wriet", "fs.write"},
		{"describe", "describe_symbol"}, {"symbol", "describe_symbol list_package_symbols"}, {"zzz", ""}, {"", ""},
	} {
		if got := strings.Join(Nearest(c.name, names, 3), " "); got != c.want {
			t.Errorf("Nearest(%q) = %q, want %q", c.name, got, c.want)
		}
	}
	if got := Nearest("symbol", names, 1); len(got) != 1 {
		t.Errorf("the limit is not kept: %q", got)
	}
}
