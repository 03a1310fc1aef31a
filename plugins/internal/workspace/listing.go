package workspace

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"
)

// Entry is one thing in a directory.
type Entry struct {
	Path     string // relative to the workspace
	Name     string // the last element of Path
	Kind     Kind
	Size     int64 // bytes of a file; 0 for all else
	Modified time.Time
}

// ListOptions narrow a listing. The zero value lists one directory whole.
type ListOptions struct {
	// Recursive goes into the directories below, save for those named .git.
	Recursive bool
	// Match picks the entries that are listed; directories are gone into
	// either way. Nil: all.
	Match func(Entry) bool
	// Limit is the most entries that are listed. 0: no limit.
	Limit int
}

// Listing is what is in a directory.
type Listing struct {
	// Entries are sorted by path, byte by byte.
	Entries []Entry
	// Truncated says that Limit cut entries off the end.
	Truncated bool
	// Unreadable are directories that could not be looked into, at most
	// [MaxUnreadable].
	Unreadable []string
}

// MaxUnreadable is the most directories that [Listing.Unreadable] names.
const MaxUnreadable = 100

// List lists a directory. If the path itself is a symbolic link that stays
// inside, it is followed; links that are found are listed and not followed.
// What appears or vanishes meanwhile may be listed or not.
func (w *Workspace) List(ctx context.Context, given string, o ListOptions) (Listing, error) {
	name, err := Clean(given)
	if err != nil {
		return Listing{}, err
	}
	info, err := w.root.Stat(name)
	if err != nil {
		return Listing{}, w.Explain(given, err)
	}
	if err := demand(Dir, given, info.Mode()); err != nil {
		return Listing{}, err
	}
	dir, err := w.openDir(name)
	if err != nil {
		return Listing{}, w.Explain(given, err)
	}
	l := lister{openDir: w.openDir, options: o}
	if err := l.list(ctx, name, dir); err != nil && !errors.Is(err, errFull) {
		return Listing{}, w.Explain(given, err)
	}
	return l.listing, nil
}

// errFull ends a walk that has reached its limit.
var errFull = errors.New("the listing is full")

type lister struct {
	openDir func(name string) (*os.Root, error)
	options ListOptions
	listing Listing
}

// found is an entry and what identifies it.
type found struct {
	Entry
	info fs.FileInfo
}

// list lists one directory, which it closes.
func (l *lister) list(ctx context.Context, name string, dir *os.Root) error {
	entries, err := look(ctx, name, dir)
	// Closed before the next level is opened, so that a deep tree does not use
	// up the descriptors.
	if err := errors.Join(err, dir.Close()); err != nil {
		return err
	}
	for _, s := range l.plan(entries) {
		if s.into {
			err = l.descend(ctx, s.found)
		} else {
			err = l.add(s.Entry)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *lister) add(e Entry) error {
	if l.options.Match != nil && !l.options.Match(e) {
		return nil
	}
	if l.options.Limit > 0 && len(l.listing.Entries) == l.options.Limit {
		l.listing.Truncated = true
		return errFull
	}
	l.listing.Entries = append(l.listing.Entries, e)
	return nil
}

// step is one thing to do with an entry.
type step struct {
	found
	into bool
	key  string
}

// plan puts the steps into such an order that paths come out sorted as
// strings, "a", "a-b", "a/c", without the whole tree in memory: what is below
// "a" sorts as "a/".
func (l *lister) plan(entries []found) []step {
	steps := make([]step, 0, len(entries))
	for _, e := range entries {
		steps = append(steps, step{found: e, key: e.Name})
		if l.options.Recursive && e.Kind == Dir && e.Name != ".git" {
			steps = append(steps, step{found: e, key: e.Name + "/", into: true})
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.key, b.key) })
	return steps
}

// descend lists a directory that was found. One that cannot be looked into is
// noted, and does not keep the others from being listed.
func (l *lister) descend(ctx context.Context, e found) error {
	err := l.enter(ctx, e)
	switch {
	case errors.Is(err, errFull), ctx.Err() != nil:
		return err
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		l.unreadable(e.Path)
	}
	return nil
}

// enter lists a directory if it is still the one that was found: a link may be
// there by now, and links are not followed.
func (l *lister) enter(ctx context.Context, e found) error {
	dir, err := l.openDir(e.Path)
	if err != nil {
		return err
	}
	now, err := dir.Stat(".")
	if err != nil || !os.SameFile(now, e.info) {
		return errors.Join(err, dir.Close())
	}
	return l.list(ctx, e.Path, dir)
}

func (l *lister) unreadable(name string) {
	if len(l.listing.Unreadable) < MaxUnreadable {
		l.listing.Unreadable = append(l.listing.Unreadable, name)
	}
}

// look reads one directory, in no order.
func look(ctx context.Context, name string, dir *os.Root) ([]found, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var out []found
	for {
		names, err := f.Readdirnames(256)
		for _, n := range names {
			// By the directory's handle: what os.File.ReadDir says of an entry
			// came from its path, which may lead elsewhere, before Go 1.26.1.
			if info, err := dir.Lstat(n); err == nil {
				out = append(out, entry(name, info))
			}
		}
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
	}
}

func entry(dir string, info fs.FileInfo) found {
	e := Entry{
		Path: path.Join(dir, info.Name()), Name: info.Name(),
		Kind: kindOf(info.Mode()), Modified: presentable(info.ModTime()),
	}
	if e.Kind == File {
		e.Size = info.Size()
	}
	return found{e, info}
}

// presentable keeps a time within the years that RFC 3339 can write. Anybody
// can give a file any time, and one such file would make the whole listing
// impossible to encode.
func presentable(t time.Time) time.Time {
	t = t.UTC()
	switch {
	case t.Year() < 0:
		return time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	case t.Year() > 9999:
		return time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	}
	return t
}
