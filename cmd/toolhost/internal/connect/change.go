package connect

import (
	"fmt"
	"maps"
	"regexp"
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
	Path  string
	After string // the content
	Entry *Entry // what the file has of toolhost before; nil: nothing
	Made  Made   // what is kept for the day when it is undone

	file   file
	remove bool
}

// Made is what was done to a file: Old became New, in which [Secret] stands for the token.
type Made struct {
	Path    string `json:"path"`
	Old     string `json:"old"`
	New     string `json:"new"`
	Created bool   `json:"created,omitempty"` // there was no file
}

// Nothing reports whether the file stays as it is.
func (c *Change) Nothing() bool { return c == nil || !c.remove && c.file.text == c.After }

// Exposes reports whether a token would be where others can read it.
func (c *Change) Exposes() bool { return c.NeedsToken() && c.file.mode&0o077 != 0 }

// NeedsToken reports whether the change has [Secret].
func (c *Change) NeedsToken() bool { return strings.Contains(c.After, Secret) && !c.Nothing() }

func about(path string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", sanitize.Text(path), err)
	}
	return err
}

// Insert returns the change with which a file has a text at a place that at returns.
func Insert(path string, at func(text string) (int, string)) (*Change, error) {
	f, err := read(path)
	i, text := at(f.text)
	return changed(f, f.text, splice{i, i, text}), about(path, err)
}

// changed returns the change of a file, which would be base if what was made before were undone.
func changed(f file, base string, s splice) *Change {
	made := Made{f.path, base[s.at:s.end], token.Any().ReplaceAllString(s.text, Secret), !f.exists}
	return &Change{Path: f.path, After: s.in(base), Made: made, file: f}
}

// Add returns the change with which the client's file has the entry. Was is what was made before, if anything.
//
// # Errors
//
// Plain ones that name the file: it cannot be read or may not be replaced, it is not what the client writes, or
// more than the entry would change. None has a value of the file.
func (c *Client) Add(e Entry, was *Made) (*Change, error) {
	path, _ := c.File()
	out, err := c.add(path, e, was)
	return out, about(path, err)
}

func (c *Client) add(path string, e Entry, was *Made) (*Change, error) {
	f, err := read(path)
	if err != nil {
		return nil, err
	}
	tree, err := c.syntax.parse(f.text)
	if err != nil {
		return nil, err
	}
	base, at := f.text, c.path(tree)
	var entry *Entry
	if now := find(tree, at); now != nil {
		has := c.read(now)
		entry = &has
		if e.URL != "" && has.URL == e.URL && has.Headers["Authorization"] != "" {
			e.Headers = has.Headers // whatever token it is
		}
		if c.syntax.same(f.text, f.text, at, c.write(e)) == nil {
			return &Change{Path: path, After: f.text, Entry: entry, file: f}, nil
		}
		if was != nil {
			undone, err := c.drop(f, was, at)
			if err != nil {
				return nil, err
			}
			base, f.exists = undone.After, !was.Created
		}
	}
	s, err := c.syntax.put(base, at, c.write(e))
	if err != nil {
		return nil, err
	}
	out := changed(f, base, s)
	out.Entry, out.file.exists = entry, f.exists || entry != nil // it may exist by what is undone
	return out, c.syntax.same(f.text, out.After, at, c.write(e))
}

// Undo returns the change that makes the file what it was, if what was put there stands there still; nil otherwise.
func (m *Made) Undo() (*Change, error) {
	f, err := read(m.Path)
	return m.undo(f), about(m.Path, err)
}

func (m *Made) undo(f file) *Change {
	if m == nil || m.New == "" || m.Path != f.path {
		return nil
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(m.New), Secret, token.Any().String())
	all := regexp.MustCompile(pattern).FindAllStringIndex(f.text, 2)
	if len(all) != 1 {
		return nil
	}
	out := changed(f, f.text, splice{all[0][0], all[0][1], m.Old})
	out.remove = m.Created && out.After == ""
	return out
}

// Remove returns the change that takes the entry out of the client's file. With what was made it restores the file, byte
// for byte, whatever others wrote elsewhere in it. If the entry is another one by now, or was not made here, it takes out
// the entry alone.
//
// # Errors
//
// Those of [Client.Add].
func (c *Client) Remove(was *Made) (*Change, error) {
	path, _ := c.File()
	if was != nil {
		path = was.Path
	}
	f, err := read(path)
	if err != nil {
		return nil, about(path, err)
	}
	tree, err := c.syntax.parse(f.text)
	if err != nil {
		return nil, about(path, err)
	}
	at := c.path(tree)
	now := find(tree, at)
	if now == nil {
		return &Change{Path: path, After: f.text, file: f}, nil
	}
	out, err := c.drop(f, was, at)
	out.Entry = new(c.read(now))
	return out, about(path, err)
}

// drop undoes what was made, or takes out the entry that is there by now.
func (c *Client) drop(f file, was *Made, at []string) (*Change, error) {
	if out := was.undo(f); out != nil && c.syntax.same(f.text, out.After, at, nil) == nil {
		return out, nil
	}
	var after string
	if c.syntax == inTOML {
		from, end, _ := tableAt(f.text, strings.Join(at, "."))
		above, line := f.text[:from], lineEnd(f.text)
		if strings.HasSuffix(above, line+line) {
			above = strings.TrimSuffix(above, line)
		}
		after = above + f.text[end:]
	} else {
		after = dropJSON(f.text, at)
	}
	out := changed(f, f.text, between(f.text, after))
	if after == f.text {
		return out, errMore
	}
	return out, c.syntax.same(f.text, after, at, nil)
}

// Diff returns the lines that go and come. It has no token, no value of a header or variable that an entry had, and
// nothing besides the change, as files of one line have the secrets of others in it.
func (c *Change) Diff() []string {
	lines := func(text string) []string {
		text = token.Any().ReplaceAllString(text, Secret)
		if c.Entry != nil {
			for _, v := range slices.Concat(slices.Collect(maps.Values(c.Entry.Env)), slices.Collect(maps.Values(c.Entry.Headers))) {
				if !strings.Contains(v, token.Prefix) {
					text = strings.ReplaceAll(text, value(v), `"…"`)
				}
			}
		}
		all := strings.Split(strings.ReplaceAll(sanitize.Text(text), "\r", ""), "\n")
		return slices.DeleteFunc(all, func(l string) bool { return strings.TrimSpace(l) == "" })
	}
	s := between(c.file.text, c.After)
	a, b := lines(c.file.text[s.at:s.end]), lines(s.text)
	return output.Difference(a, b, func(i int) string { return a[i] }, func(i int) string { return b[i] })
}

// Do makes the change, with the token in place of [Secret].
//
// # Errors
//
// Plain ones that name the file.
func (c *Change) Do(secret string) error {
	return about(c.Path, c.file.write(strings.ReplaceAll(c.After, Secret, secret), c.remove))
}
