package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Move gives a file, a directory or a symbolic link another path, and returns what it is,
// with its new path. What exists is never replaced, except for an empty directory that
// appears at the new path in the same instant. Missing directories are made. A read-only or
// a special file is refused.
func (w *Workspace) Move(given, to string) (Info, error) {
	name, err := w.newPath(given, to)
	if err != nil {
		return Info{}, err
	}
	var moved Info
	err = w.detach(given, func(_ *os.Root, info Info) error {
		target, err := w.makeDir(path.Dir(name))
		if err != nil {
			return w.Explain(to, err)
		}
		defer func() { _ = target.Close() }()
		if err := w.checkWritable(to, name, target); err != nil {
			return err
		}
		if err := w.rename(info, name); err != nil {
			return w.Explain(to, err)
		}
		moved = info
		return nil
	})
	moved.Path, moved.Name = name, path.Base(name)
	return moved, err
}

// Movable returns what [Workspace.Move] would move now, or its error.
func (w *Workspace) Movable(given, to string) (Info, error) {
	name, err := w.newPath(given, to)
	if err != nil {
		return Info{}, err
	}
	var movable Info
	err = w.detach(given, func(_ *os.Root, info Info) error {
		movable = info
		return w.Explain(to, w.checkCreatable(path.Dir(name)))
	})
	return movable, err
}

// newPath checks the path that something is to get.
func (w *Workspace) newPath(given, to string) (string, error) {
	name, err := w.cleanChangeable(to)
	if err != nil {
		return "", err
	}
	from, err := Clean(given)
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(name+"/", from+"/") {
		return "", newFault(nil, "%s cannot become %s, which is itself or in it (choose another path)", Show(given), Show(to))
	}
	switch _, err := w.root.Lstat(name); {
	case err == nil:
		return "", exists(to)
	case !errors.Is(err, fs.ErrNotExist):
		return "", w.Explain(to, err)
	}
	return name, nil
}

func exists(given string) error {
	return newFault(fs.ErrExist, "%s exists, and is not replaced (choose another path, or delete it first)", Show(given))
}

// rename gives an entry a new path. Unlike a rename, a link never replaces a file.
func (w *Workspace) rename(e Info, to string) error {
	if e.Kind == Dir {
		return w.root.Rename(e.Path, to)
	}
	err := w.root.Link(e.Path, to)
	switch {
	case errors.Is(err, fs.ErrExist):
		return exists(to)
	case err != nil: // not every file system has links
		return w.root.Rename(e.Path, to)
	}
	if err := w.root.Remove(e.Path); err != nil {
		return errors.Join(err, w.root.Remove(to))
	}
	return nil
}
