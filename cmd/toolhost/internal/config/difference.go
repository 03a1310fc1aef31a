package config

import (
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// Difference returns how a content differs from the file of c, as [output.Difference] does. Values
// that may be secrets are left out.
func (c *Config) Difference(content []byte) []string {
	text, _ := textOf(content)
	after, err := newSource(c.File, text)
	if err != nil || c.src == nil {
		return nil
	}
	before := c.src()
	return output.Difference(before.lines, after.lines, before.shown, after.shown)
}

// shown returns a line without what may be a secret.
func (s *source) shown(i int) string {
	line := []rune(s.lines[i])
	if h := s.hidden()[i]; h >= 0 && h < len(line) {
		return sanitize.Line(string(line[:h]), snippetWidth) + " …"
	}
	return sanitize.Line(string(line), snippetWidth)
}
