package verify_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/verify"
	"github.com/toolhost/toolhost/internal/test/require"
)

// Each check has a name of its own in a known group, says what to do, and names a section that exists.
func TestChecks(t *testing.T) {
	t.Parallel()
	page := require.Must(os.ReadFile("../../../../docs/plugin-protocol.md"))(t)
	sections := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(page), -1) {
		sections[strings.ReplaceAll(strings.ToLower(heading[1]), " ", "-")] = true
	}
	seen, order := map[string]bool{}, []string{}
	for _, c := range verify.Checks() {
		if seen[c.ID] || !regexp.MustCompile(`^[a-z]+\.[a-z_]+$`).MatchString(c.ID) {
			t.Errorf("%s is there twice, or malformed", c.ID)
		}
		seen[c.ID] = true
		if order = append(order, c.Group()); c.What == "" || c.Do == "" {
			t.Errorf("%s does not say what holds or what to do", c.ID)
		}
		if !sections[c.See] {
			t.Errorf("%s names the section #%s, which docs/plugin-protocol.md does not have", c.ID, c.See)
		}
	}
	if order = slices.Compact(order); !slices.Equal(order, verify.Groups()) {
		t.Errorf("the groups are run as %v, and listed as %v", order, verify.Groups())
	}
	if len(seen) < 60 {
		t.Errorf("%d checks", len(seen))
	}
	for _, f := range watchFaults {
		if !seen[f.check] {
			t.Errorf("%s has the fault %s, which no check names", f.name, f.check)
		}
	}
	for name, f := range faults {
		if !seen[f.check] {
			t.Errorf("%s has the fault %s, which no check names", name, f.check)
		}
	}
}
