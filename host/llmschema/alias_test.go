package llmschema_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/llmschema"
	"github.com/toolhost/toolhost/internal/test/assert"
)

var pattern = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)

func among(names ...string) func(string) bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return func(name string) bool { return set[name] }
}

func TestAlias(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("l", 70)
	for _, c := range []struct {
		about, name string
		taken       []string
		want        string
	}{
		{"fits", "describe_symbol", nil, "describe_symbol"},
		{"all kinds of characters", "aZ09_-", nil, "aZ09_-"},
		{"a dot", "fs.read", nil, "fs_read"},
		{"many dots", "..a..", nil, "__a__"},
		{"longest", long[:64], nil, long[:64]},
		{"too long", long, nil, long[:64]},
		// The digits are the start of what sha256sum prints for the name.
		{"taken", "fs.read", []string{"fs_read"}, "fs_read_4074bc02"},
		{"taken itself", "fs_read", []string{"fs_read"}, "fs_read_42bf01ad"},
		{"taken twice", "fs.read", []string{"fs_read", "fs_read_4074bc02"}, "fs_read_4074bc025"},
		{"too long and taken", long, []string{long[:64]}, long[:55] + "_c1d94830"},
		{"a digit in front", "9lives", nil, "_9lives"},
		{"a dash in front", "-dash", nil, "_-dash"},
		{"long with a digit in front", "9" + long, nil, "_9" + long[:62]},
		{"not a name", "", nil, "_"},
		{"a letter outside ASCII is one character", "é\xff", nil, "__"},
	} {
		t.Run(c.about, func(t *testing.T) {
			t.Parallel()
			for range 2 {
				assert.Equal(t, llmschema.Alias(c.name, among(c.taken...)), c.want)
			}
		})
	}
}

// TestAliasNeverGivesUp checks that Alias goes on if every short candidate is
// taken.
func TestAliasNeverGivesUp(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 200 {
		alias := llmschema.Alias("fs.read", func(a string) bool { return seen[a] })
		if seen[alias] || !pattern.MatchString(alias) {
			t.Fatalf("%s after %d others", alias, len(seen))
		}
		seen[alias] = true
	}
}

func FuzzAlias(f *testing.F) {
	f.Add("fs.read", "fs_read fs_read_4074bc02")
	f.Add(strings.Repeat("l", 128), strings.Repeat("l", 64))
	f.Add("", "_ __")
	f.Add("é\xff", "")
	f.Fuzz(func(t *testing.T, name, names string) {
		taken := strings.Fields(names)
		// Each alias is taken from now on, so that suffixes collide.
		for range 3 {
			alias := llmschema.Alias(name, among(taken...))
			if !pattern.MatchString(alias) {
				t.Errorf("%q gives %q, which is not an alias", name, alias)
			}
			if among(taken...)(alias) {
				t.Errorf("%q gives %q, which is taken", name, alias)
			}
			assert.Equalf(t, llmschema.Alias(name, among(taken...)), alias, "%q gives %q and then", name, alias)
			if pattern.MatchString(name) && !among(taken...)(name) && alias != name {
				t.Errorf("%q would do, and becomes %q", name, alias)
			}
			taken = append(taken, alias)
		}
	})
}
