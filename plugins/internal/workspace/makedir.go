package workspace

import (
	"errors"
	"io/fs"
)

// MakeDir makes a directory, and those above it that are missing, with 0755 before the
// umask. It reports whether the directory is new.
func (w *Workspace) MakeDir(given string) (name string, created bool, err error) {
	if name, err = w.cleanChangeable(given); err != nil {
		return "", false, err
	}
	info, err := w.root.Stat(name)
	if err == nil {
		if err := requireKind(Dir, given, info.Mode()); err != nil {
			return "", false, err
		}
	}
	created = errors.Is(err, fs.ErrNotExist)
	if err := w.checkCreatable(name); err != nil {
		return "", false, w.Explain(given, err)
	}
	dir, err := w.makeDir(name)
	if err != nil {
		return "", false, w.Explain(given, err)
	}
	return name, created, dir.Close()
}
