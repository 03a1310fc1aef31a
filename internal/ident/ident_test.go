package ident_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/ident"
	"github.com/toolhost/toolhost/internal/test/assert"
)

func TestValid(t *testing.T) {
	t.Parallel()
	rule := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
	names := []string{"", strings.Repeat("a", 64), strings.Repeat("a", 65), "a\n", "é", "a\x00"}
	for c := range 256 {
		names = append(names, string([]byte{byte(c)}), "a"+string([]byte{byte(c)}))
	}
	for _, name := range names {
		assert.Equalf(t, ident.Valid(name), rule.MatchString(name), "%q", name)
	}
}
