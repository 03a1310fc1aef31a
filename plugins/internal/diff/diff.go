// Package diff shows what a change does to a file, as a unified diff. See
// [Change].
package diff

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/toolhost/toolhost/plugins/internal/truncate"
)

// Bounds of what is compared and shown, in bytes.
const (
	maxCompared = 2 << 20
	maxShown    = 64 << 10
	context     = 3 // lines
)

// Change is a file before and after.
type Change struct {
	Path     string // relative to the workspace
	Exists   bool   // before
	Old, New []byte
	// OldSize is the size of a file that is too large for Old.
	OldSize int64
}

// Text returns the change in the format of git and patch, with the file as a/PATH and
// b/PATH, or /dev/null for one that does not exist. If the content stays the same, is
// not text or is larger than 2 MiB, it says so instead. A long diff is cut off after
// 64 KiB.
func (c Change) Text() string {
	before := max(c.OldSize, int64(len(c.Old)))
	name := quote(c.Path)
	switch {
	case c.Exists && before == int64(len(c.Old)) && bytes.Equal(c.Old, c.New):
		return fmt.Sprintf("No change: %s has this content already.\n", name)
	case !c.Exists && len(c.New) == 0:
		return fmt.Sprintf("New file %s, empty.\n", name)
	case before > maxCompared, len(c.New) > maxCompared:
		return c.sizes("is too large to compare", before)
	case !isText(c.Old), !isText(c.New):
		return c.sizes("is binary", before)
	}
	return c.unified()
}

func (c Change) sizes(why string, before int64) string {
	if !c.Exists {
		return fmt.Sprintf("New file %s, %d bytes; it %s.\n", quote(c.Path), len(c.New), why)
	}
	return fmt.Sprintf("%s %s: %d bytes become %d.\n", quote(c.Path), why, before, len(c.New))
}

func isText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

func (c Change) unified() string {
	from, to := "/dev/null", label("b/"+c.Path)
	if c.Exists {
		from = label("a/" + c.Path)
	}
	old, modified := string(c.Old), string(c.New)
	text, err := udiff.ToUnified(from, to, old, udiff.Lines(old, modified), context)
	if err != nil { // the edits are the library's own
		return c.sizes("cannot be compared", int64(len(c.Old)))
	}
	if cut, was := truncate.Bytes(text, maxShown); was {
		return fmt.Sprintf("%s\nThese are the first %d of %d bytes of the diff.\n", cut, maxShown, len(text))
	}
	return text
}

// label returns a name for the head of a diff, where a tab ends a name with spaces.
func label(name string) string {
	quoted := quote(name)
	if quoted == name && strings.Contains(name, " ") {
		return name + "\t"
	}
	return quoted
}

// quote returns a name as git writes it: in quotes if it has characters that could be
// misread.
func quote(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	if b.Len() == len(name) {
		return name
	}
	return `"` + b.String() + `"`
}
