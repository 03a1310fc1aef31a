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
	// Deleted means that there is no file afterwards.
	Deleted bool
}

// Text returns the change in the format of git and patch, with the file as a/PATH and
// b/PATH, or /dev/null for one that does not exist. If the content stays the same or is
// larger than 2 MiB, it says so instead. Bytes that are not text, such as NUL, are shown as
// \xNN, so that they hide nothing; a first line says so. A long diff is cut off after
// 64 KiB.
func (c Change) Text() string {
	before := max(c.OldSize, int64(len(c.Old)))
	name := quote(c.Path)
	switch {
	case c.Deleted && before == 0:
		return fmt.Sprintf("Deletes %s, an empty file.\n", name)
	case !c.Deleted && c.Exists && before == int64(len(c.Old)) && bytes.Equal(c.Old, c.New):
		return fmt.Sprintf("No change: %s has this content already.\n", name)
	case !c.Exists && len(c.New) == 0:
		return fmt.Sprintf("New file %s, empty.\n", name)
	case before > maxCompared, len(c.New) > maxCompared:
		return c.sizes("is too large to compare", before)
	case !isText(c.Old), !isText(c.New):
		c.Old, c.New = escape(c.Old), escape(c.New)
		return name + " is not text: some of its bytes are shown as \\xNN.\n" + c.unified()
	}
	return c.unified()
}

func (c Change) sizes(why string, before int64) string {
	switch {
	case c.Deleted:
		return fmt.Sprintf("Deletes %s, %d bytes; it %s.\n", quote(c.Path), before, why)
	case !c.Exists:
		return fmt.Sprintf("New file %s, %d bytes; it %s.\n", quote(c.Path), len(c.New), why)
	}
	return fmt.Sprintf("%s %s: %d bytes become %d.\n", quote(c.Path), why, before, len(c.New))
}

func isText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

// escape replaces NUL and what is not UTF-8 by \xNN.
func escape(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == 0 || r == utf8.RuneError && size == 1 {
			out = fmt.Appendf(out, `\x%02x`, b[0])
		} else {
			out = append(out, b[:size]...)
		}
		b = b[size:]
	}
	return out
}

func (c Change) unified() string {
	from, to := "/dev/null", label("b/"+c.Path)
	if c.Exists {
		from = label("a/" + c.Path)
	}
	if c.Deleted {
		to = "/dev/null"
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
