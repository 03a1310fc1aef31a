package output_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/internal/test/assert"
)

func difference(a, b []string) []string {
	return output.Difference(a, b, func(i int) string { return a[i] }, func(i int) string { return b[i] })
}

func TestDifference(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"", "", ""}, {"a b c", "a b c", ""}, {"a b c", "a c", "- b"}, {"a c", "a b c", "+ b"},
		{"a b c d", "a x c y", "- b,+ x,- d,+ y"}, {"a", "", "- a"}, {"a a", "a", "- a"},
	} {
		a, b := strings.Fields(c[0]), strings.Fields(c[1])
		assert.Equalf(t, strings.Join(difference(a, b), ","), c[2], "%q to %q", c[0], c[1])
	}
	many := slices.Repeat([]string{"x"}, 100_000)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	if got := difference(many, nil); len(got) != 101 || got[100] != "… of 100000 lines that went and 0 that came" {
		t.Errorf("%d lines, the last %q", len(got), got[len(got)-1])
	}
}
