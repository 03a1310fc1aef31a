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

// WalkOptions control a walk. The zero value walks all of one directory.
type WalkOptions struct {
	// Recursive enters the directories below, except those named .git.
	Recursive bool
	// Ignore has the names of files with rules, in the syntax of gitignore, for what is
	// left out; a later name takes precedence. If it is not empty, .git is left out too.
	//
	// The rules of the directories above apply, up to the workspace, except to the
	// directory of the walk itself.
	Ignore []string
	// SkipHidden leaves out files and directories whose names start with a dot.
	SkipHidden bool
}

// GitRules returns the names of the files whose rules git follows, as far as they are in
// a workspace.
func GitRules() []string { return []string{".git/info/exclude", ".gitignore"} }

// SearchRules returns the names of the files whose rules ripgrep follows, as far as they
// are in a workspace.
func SearchRules() []string { return append(GitRules(), ".ignore", ".rgignore") }

// ErrEnough is what a visitor returns to end a walk.
var ErrEnough = errors.New("enough")

// MaxUnreadable bounds how many directories a walk reports as unreadable.
const MaxUnreadable = 100

// Walk calls visit for the entries of a directory, sorted by path, byte by byte. If the
// path itself is a symbolic link that stays inside, it is followed; links in the directory
// are visited and not followed. Files that appear or vanish meanwhile may be visited or
// not.
//
// Unreadable are directories below that could not be read, at most [MaxUnreadable]. An
// error of visit ends the walk and is returned, except for [ErrEnough].
func (w *Workspace) Walk(
	ctx context.Context, given string, o WalkOptions, visit func(Entry) error,
) (unreadable []string, err error) {
	name, err := w.find(Dir, given)
	if err != nil {
		return nil, err
	}
	l := walker{openDir: w.openDir, options: o, visit: visit}
	scope := l.scopeAbove(name)
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

// walk walks one directory and closes it. Scope has the rules from above.
func (l *walker) walk(ctx context.Context, name string, dir *os.Root, scope *ignore.Scope) error {
	entries, err := readDir(ctx, name, dir)
	if err == nil {
		scope = l.scopeOf(scope, name, dir)
	}
	// Close it before the next level is opened, so that a deep tree does not use up the
	// descriptors.
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
			err = l.visitEntry(s.Entry)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *walker) visitEntry(e Entry) error {
	if err := l.visit(e); err != nil {
		return &visitorError{err}
	}
	return nil
}

// visitorError is an error that a visitor returned, not the walk's own.
type visitorError struct{ err error }

func (e *visitorError) Error() string { return e.err.Error() }
func (e *visitorError) Unwrap() error { return e.err }

// step is one step of a walk: to visit an entry, or to enter it.
type step struct {
	found
	into bool
	key  string
}

// plan orders the steps so that paths are visited in the order of strings, "a", "a-b",
// "a/c", without the whole tree in memory: what is below "a" sorts as "a/".
func (l *walker) plan(entries []found, scope *ignore.Scope) []step {
	steps := make([]step, 0, len(entries))
	for _, e := range entries {
		if l.isExcluded(e, scope) {
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

func (l *walker) isExcluded(e found, scope *ignore.Scope) bool {
	if l.options.SkipHidden && strings.HasPrefix(e.Name, ".") {
		return true
	}
	if len(l.options.Ignore) == 0 {
		return false
	}
	return e.Name == ".git" || scope.Ignored(e.Path, e.Kind == Dir)
}

// descend walks a directory that was found. One that cannot be read is noted, and does
// not end the walk.
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

// enter opens a directory if it is still the one that was found, and not a link, which
// would not be followed. Nil means that it is not.
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

// readDir reads one directory, in no order.
func readDir(ctx context.Context, name string, dir *os.Root) ([]found, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var out []found
	for {
		names, err := f.Readdirnames(256)
		for _, n := range names {
			// By the directory's handle: before Go 1.26.1 os.File.ReadDir used the
			// entry's path, which may lead elsewhere.
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
