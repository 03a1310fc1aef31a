package main

import (
	"os"
	"regexp"
	"testing"

	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/internal/test/require"
)

// Each remedy of the library has the command's words.
func TestRemediesHaveWords(t *testing.T) {
	t.Parallel()
	text := require.Must(os.ReadFile("../../internal/remedy/remedy.go"))(t)
	all := regexp.MustCompile(`(?m)^\t(\w+) +Remedy = "(.*)"$`).FindAllSubmatch(text, -1)
	for _, r := range all {
		if remedies[remedy.Remedy(r[2])] == "" {
			t.Errorf("the command has no words for remedy.%s", r[1])
		}
	}
	if len(all) == 0 || len(all) != len(remedies) {
		t.Errorf("%d remedies, words for %d", len(all), len(remedies))
	}
}
