package connect

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/token"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// Secret stands in an entry for a token that is yet to be made.
const Secret = token.Prefix + "…"

// Change is what becomes of a file.
type Change struct {
	Path string
	// Entry is what the file has of toolhost before it; nil: nothing.
	Entry *Entry

	file   file
	splice splice
	after  string
	gone   bool // the file is removed
	fresh  bool // what the entry is in is made for it
}

// Nothing reports whether the file stays as it is.
func (c *Change) Nothing() bool { return !c.gone && c.file.text == c.after }

// NeedsToken reports whether the change has [Secret].
func (c *Change) NeedsToken() bool { return strings.Contains(c.splice.text, Secret) }

// ForAll reports whether others can read the file.
func (c *Change) ForAll() bool { return c.file.mode&0o077 != 0 }

func about(path string, err error) error {
	if err == nil || strings.HasPrefix(err.Error(), sanitize.Text(path)) {
		return err
	}
	return fmt.Errorf("%s: %w", sanitize.Text(path), err)
}

// Add returns the change with which the client's file has the entry.
//
// # Errors
//
// Plain ones that name the file: it cannot be read or may not be replaced, it is not what the client writes, or
// more than the entry would change. None has a value of the file.
func (c *Client) Add(e Entry) (*Change, error) {
	path, _ := c.File()
	f, err := read(path)
	if err != nil {
		return nil, about(path, err)
	}
	return c.add(f, e)
}

func (c *Client) add(f file, e Entry) (*Change, error) {
	tree, err := c.syntax.parse(f.text)
	if err != nil {
		return nil, about(f.path, err)
	}
	out := &Change{Path: f.path, file: f, after: f.text}
	at := c.keyed(tree)
	if now := find(tree, at); now != nil {
		entry := c.shape.read(now)
		out.Entry = &entry
		if token := entry.Headers["Authorization"]; e.URL != "" && entry.URL == e.URL && token != "" {
			e.Headers = entry.Headers // whatever token it is
		}
		if equal(now, c.shape.write(e)) {
			return out, nil
		}
	}
	if out.splice, err = c.syntax.put(f.text, at, c.shape.write(e)); err == nil {
		out.after = out.splice.in(f.text)
		var now map[string]any
		if now, err = c.syntax.same(f.text, out.after, at); err == nil && !equal(now, c.shape.write(e)) {
			err = errMore // it is there twice
		}
	}
	out.fresh = find(tree, at[:len(at)-1]) == nil
	return out, about(f.path, err)
}

// equal reports whether an entry has these fields and no others.
func equal(entry map[string]any, fields []field) bool {
	want, _ := parseJSON(compact(fields))
	return reflect.DeepEqual(entry, want)
}

// Insert returns the change that a file has a text at a place.
func Insert(path string, put func(text string) (at int, insertion string, err error)) (*Change, error) {
	f, err := read(path)
	if err != nil {
		return nil, about(path, err)
	}
	at, text, err := put(f.text)
	out := &Change{Path: path, file: f, splice: splice{at, at, text}}
	out.after = out.splice.in(f.text)
	return out, err
}

// After returns the content after the change.
func (c *Change) After() string { return c.after }

// Before returns the content before the change, and whether the file exists.
func (c *Change) Before() (string, bool) { return c.file.text, c.file.exists }

// Diff returns the lines that go and come. It has no token, no value of a header or variable that an entry had, and
// nothing besides the change, as files of one line have the secrets of others in it.
func (c *Change) Diff() []string {
	lines := func(text string) []string {
		text = token.Any().ReplaceAllString(text, Secret)
		if c.Entry != nil {
			for _, of := range []map[string]string{c.Entry.Env, c.Entry.Headers} {
				for _, v := range of {
					if v != "" && !strings.Contains(v, token.Prefix) {
						text = strings.ReplaceAll(text, value(v), `"…"`)
					}
				}
			}
		}
		return slices.DeleteFunc(strings.Split(strings.ReplaceAll(text, "\r", ""), "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
	}
	a, b := lines(c.file.text[c.splice.at:c.splice.end]), lines(c.splice.text)
	return output.Difference(a, b, func(i int) string { return sanitize.Text(a[i]) }, func(i int) string { return sanitize.Text(b[i]) })
}

// Do makes the change, with the token in place of [Secret], and returns what undoes it.
//
// # Errors
//
// Plain ones that name the file.
func (c *Change) Do(secret string) (Made, error) {
	made := Made{Path: c.Path, Old: c.file.text[c.splice.at:c.splice.end], New: c.splice.text, Created: !c.file.exists, Fresh: c.fresh}
	if c.gone {
		return made, about(c.Path, c.file.remove())
	}
	return made, about(c.Path, c.file.write(strings.ReplaceAll(c.after, Secret, secret)))
}

// Remove returns the change that takes the entry out of the client's file. With what was made it restores the file, byte
// for byte, whatever others wrote elsewhere in it. If the entry is another one by now, or was not made here, it takes out
// the entry alone.
//
// # Errors
//
// Those of [Client.Add].
func (c *Client) Remove(made *Made) (*Change, error) {
	path, _ := c.File()
	if made != nil {
		path = made.Path
	}
	f, err := read(path)
	if err != nil {
		return nil, about(path, err)
	}
	tree, err := c.syntax.parse(f.text)
	if err != nil {
		return nil, about(path, err)
	}
	out, at := &Change{Path: path, file: f, after: f.text}, c.keyed(tree)
	now := find(tree, at)
	if now == nil {
		return out, nil
	}
	entry := c.shape.read(now)
	if made != nil {
		undone, err := made.Undo()
		if err == nil && undone != nil {
			if _, err := c.syntax.same(f.text, undone.after, at); err == nil {
				undone.Entry = &entry
				return undone, nil
			}
		}
	}
	out.Entry = &entry
	out.after, err = c.syntax.drop(f.text, at)
	if above := at[:len(at)-1]; err == nil && made != nil && made.Fresh && c.syntax == jsonSyntax {
		if left, bad := c.syntax.parse(out.after); bad == nil && len(find(left, above)) == 0 {
			out.after, err = c.syntax.drop(out.after, above)
		}
	}
	if err == nil {
		_, err = c.syntax.same(f.text, out.after, at)
	}
	out.splice = between(f.text, out.after)
	return out, about(path, err)
}

// between returns the change that makes a text another one.
func between(before, after string) splice {
	at, end, last := 0, len(before), len(after)
	for at < min(end, last) && before[at] == after[at] {
		at++
	}
	for end > at && last > at && before[end-1] == after[last-1] {
		end, last = end-1, last-1
	}
	return splice{at, end, after[at:last]}
}
