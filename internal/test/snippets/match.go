package snippets

import (
	"fmt"
	"regexp"
	"strings"
)

// varying matches what differs from run to run: numbers, digests, and the spaces of tables.
var (
	varying = regexp.MustCompile(`[0-9a-f]{8,}|[0-9]+(\.[0-9]+)?`)
	spaces  = regexp.MustCompile(`[\s─│]+`)
)

// Match checks that each line of want is in the output, in order. Numbers, digests and widths
// of columns may differ, a line of want may end with ..., and so may what is between lines.
func Match(want, output string) error {
	lines := strings.Split(output, "\n")
	at := 0
	for line := range strings.Lines(want) {
		w, cut := strings.CutSuffix(normal(line), "...")
		if w = strings.TrimSpace(w); w == "" {
			continue
		}
		for ; ; at++ {
			if at == len(lines) {
				return fmt.Errorf("the output does not have the line %q in this place:\n%s", strings.TrimSpace(line), output)
			}
			have := normal(lines[at])
			if have == w || cut && strings.HasPrefix(have, w) {
				break
			}
		}
		at++
	}
	return nil
}

func normal(line string) string {
	return strings.TrimSpace(spaces.ReplaceAllString(varying.ReplaceAllString(line, "0"), " "))
}
