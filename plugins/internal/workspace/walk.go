package workspace

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/ignore"
)

// WalkOptions say where a walk goes. The zero value is one directory, whole.
type WalkOptions struct {
	// Recursive goes into the directories below, save for those named .git.
	Recursive bool
	// Ignore are the names of files with rules, in the syntax of gitignore, for
	// what is left out; a later name has precedence. Where there are any, .git
	// is left out too. Empty: nothing is left out.
	//
	// The rules of the directories above count, up to the workspace, and not
	// what they say of the directory of the walk itself.
	Ignore []string
	// SkipHidden leaves out what has a name that starts with a dot.
	SkipHidden bool
}

// GitRules are the files whose rules git follows, as far as they are in a
// workspace.
func GitRules() []string { return []string{".git/info/exclude", ".gitignore"} }

// SearchRules are the files whose rules ripgrep follows, as far as they are in a
// workspace.
func SearchRules() []string { return append(GitRules(), ".ignore", ".rgignore") }

// ErrEnough is what a visitor returns to end a walk that has shown enough.
var ErrEnough = errors.New("enough")

// MaxUnreadable is the most directories that a walk names as unreadable.
const MaxUnreadable = 100

// Walk shows a directory to visit, sorted by path, byte by byte. If the path
// itself is a symbolic link that stays inside, it is followed; links that are
// found are shown and not followed. What appears or vanishes meanwhile may be
// shown or not.
//
// Unreadable are directories below that could not be looked into, at most
// [MaxUnreadable]. An error of visit ends the walk; [ErrEnough] is none of it.
func (w *Workspace) Walk(ctx context.Context, given string, o WalkOptions, visit func(Entry) error) (unreadable []string, err error) {
	name, err := Clean(given)
	if err != nil {
		return nil, err
	}
	info, err := w.root.Stat(name)
	if err != nil {
		return nil, w.Explain(given, err)
	}
	if err := demand(Dir, given, info.Mode()); err != nil {
		return nil, err
	}
	l := walker{openDir: w.openDir, options: o, visit: visit}
	scope := l.above(name)
	dir, err := w.openDir(name)
	if err != nil {
		return nil, w.Explain(given, err)
	}
	if err := l.walk(ctx, name, dir, scope); err != nil && !errors.Is(err, ErrEnough) {
		return nil, w.Explain(given, err)
	}
	return l.unreadable, nil
}

type walker struct {
	openDir    func(name string) (*os.Root, error)
	options    WalkOptions
	visit      func(Entry) error
	unreadable []string
}

// walk shows one directory, which it closes. Scope has the rules from above.
func (l *walker) walk(ctx context.Context, name string, dir *os.Root, scope *ignore.Scope) error {
	entries, err := look(ctx, name, dir)
	if err == nil {
		scope = l.below(scope, name, dir)
	}
	// Closed before the next level is opened, so that a deep tree does not use
	// up the descriptors.
	if err := errors.Join(err, dir.Close()); err != nil {
		return err
	}
	for _, s := range l.plan(entries, scope) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if s.into {
			err = l.descend(ctx, s.found, scope)
		} else {
			err = l.show(s.Entry)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *walker) show(e Entry) error {
	if err := l.visit(e); err != nil {
		return &visitorError{err}
	}
	return nil
}

// visitorError is what a visitor returned, as no error of the walk's own.
type visitorError struct{ err error }

func (e *visitorError) Error() string { return e.err.Error() }
func (e *visitorError) Unwrap() error { return e.err }

// step is one thing to do with an entry.
type step struct {
	found
	into bool
	key  string
}

// plan puts the steps into such an order that paths come out sorted as
// strings, "a", "a-b", "a/c", without the whole tree in memory: what is below
// "a" sorts as "a/".
func (l *walker) plan(entries []found, scope *ignore.Scope) []step {
	steps := make([]step, 0, len(entries))
	for _, e := range entries {
		if l.leaveOut(e, scope) {
			continue
		}
		steps = append(steps, step{found: e, key: e.Name})
		if l.options.Recursive && e.Kind == Dir && e.Name != ".git" {
			steps = append(steps, step{found: e, key: e.Name + "/", into: true})
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.key, b.key) })
	return steps
}

func (l *walker) leaveOut(e found, scope *ignore.Scope) bool {
	if l.options.SkipHidden && strings.HasPrefix(e.Name, ".") {
		return true
	}
	if len(l.options.Ignore) == 0 {
		return false
	}
	return e.Name == ".git" || scope.Ignored(e.Path, e.Kind == Dir)
}

// descend walks a directory that was found. One that cannot be looked into is
// noted, and does not keep the others from being shown.
func (l *walker) descend(ctx context.Context, e found, scope *ignore.Scope) error {
	dir, err := l.enter(e)
	if err == nil && dir != nil {
		err = l.walk(ctx, e.Path, dir, scope)
	}
	switch end := (*visitorError)(nil); {
	case errors.As(err, &end), ctx.Err() != nil:
		return err
	case err != nil && !errors.Is(err, fs.ErrNotExist) && len(l.unreadable) < MaxUnreadable:
		l.unreadable = append(l.unreadable, e.Path)
	}
	return nil
}

// enter opens a directory if it is still the one that was found: a link may be
// there by now, and links are not followed. Nil: it is not.
func (l *walker) enter(e found) (*os.Root, error) {
	dir, err := l.openDir(e.Path)
	if err != nil {
		return nil, err
	}
	now, err := dir.Stat(".")
	if err != nil || !os.SameFile(now, e.info) {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
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
