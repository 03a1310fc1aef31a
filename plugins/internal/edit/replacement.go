package edit

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/lines"
	"github.com/toolhost/toolhost/plugins/internal/workspace"
)

// Replacement puts one text in place of another, byte for byte; but in a file whose lines all end in CRLF, so do those
// of both texts: readers show no line endings.
type Replacement struct {
	// Original is the text that the file must contain. If it is empty, the file must be
	// missing or empty, and is written with Modified.
	Original string
	Modified string
	// All replaces every occurrence of Original. Otherwise it must occur exactly
	// once.
	All bool
}

// Refused is the error for a file that does not contain what is to be replaced.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return r.Reason }

func refuse(format string, args ...any) error {
	return &Refused{Reason: fmt.Sprintf(format, args...)}
}

// in returns the content with the replacements, and how many there are. Name is the file's,
// for errors.
func (r Replacement) in(name string, old []byte, exists, allCRLF bool) ([]byte, int, error) {
	original, modified := []byte(r.Original), []byte(r.Modified)
	if allCRLF {
		original, modified = inCRLF(original), inCRLF(modified)
	}
	switch {
	case len(original) == 0:
		return r.create(name, old, exists)
	case !exists:
		return nil, 0, refuse("there is no file %s", name)
	case lines.IsUTF16(old):
		return nil, 0, refuse("%s is UTF-16, and edits are made in UTF-8 (write it as a whole)", name)
	case bytes.Equal(original, modified):
		return nil, 0, refuse("original and modified are the same, so nothing would change in %s", name)
	}
	n := bytes.Count(old, original)
	switch {
	case n == 0:
		return nil, 0, missing(name, old, original)
	case !r.All && bytes.Index(old, original) != bytes.LastIndex(old, original):
		return nil, 0, repeated(name, old, original)
	case len(old)+n*(len(modified)-len(original)) > workspace.MaxChange:
		return nil, 0, refuse("%s would be larger than %d bytes", name, workspace.MaxChange)
	}
	return bytes.ReplaceAll(old, original, modified), n, nil
}

var crlf, lf = []byte("\r\n"), []byte("\n")

func inCRLF(text []byte) []byte { return bytes.ReplaceAll(bytes.ReplaceAll(text, crlf, lf), lf, crlf) }

func (r Replacement) create(name string, old []byte, exists bool) ([]byte, int, error) {
	switch {
	case len(old) > 0:
		return nil, 0, refuse("%s exists and is not empty, while original is empty "+
			"(give the text that is to be replaced)", name)
	case exists && r.Modified == "":
		return nil, 0, refuse("original and modified are both empty, so nothing would change in %s", name)
	}
	return []byte(r.Modified), 1, nil
}

// maxPlaces is how many lines the refusal of a repeated text names.
const maxPlaces = 10

// repeated returns the refusal of a file that contains the text more than once.
func repeated(name string, old, original []byte) error {
	var at []string
	count, line, from := 0, 1, 0
	for {
		i := bytes.Index(old[from:], original)
		if i < 0 {
			break
		}
		line += bytes.Count(old[from:from+i], []byte("\n"))
		count++
		if n := strconv.Itoa(line); len(at) == 0 || at[len(at)-1] != n {
			at = append(at, n)
		}
		// One byte further, as occurrences can overlap.
		if old[from+i] == '\n' {
			line++
		}
		from += i + 1
	}
	places := "line " + at[0]
	if len(at) > 1 {
		places = "lines " + strings.Join(at[:min(len(at), maxPlaces)], ", ")
	}
	if len(at) > maxPlaces {
		places += " and more"
	}
	return refuse("%s contains original %d times, in %s "+
		"(include more of the surrounding lines, so that it occurs once)", name, count, places)
}

// missing returns the refusal of a file that does not contain the text.
func missing(name string, old, original []byte) error {
	if bytes.Contains(bytes.ReplaceAll(old, crlf, lf), bytes.ReplaceAll(original, crlf, lf)) {
		return refuse("%s does not contain original: the line endings differ (CRLF is not LF)", name)
	}
	near := nearest(old, original)
	if near == "" {
		return refuse("%s does not contain original, nor anything like it: "+
			"it has changed, or original was not copied exactly", name)
	}
	return refuse("%s does not contain original: it has changed, or original was not copied exactly "+
		"(the most similar text is in %s; read it again)", name, near)
}
