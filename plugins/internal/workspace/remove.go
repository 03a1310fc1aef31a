package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
)

// Remove deletes a file, a symbolic link (not what it leads to) or an empty directory, and
// returns what was there. A read-only or a special file is refused.
func (w *Workspace) Remove(given string) (Info, error) {
	return w.removal(given, func(dir *os.Root, name string) error { return dir.Remove(name) })
}

// Removable returns what [Workspace.Remove] would delete now, or its error.
func (w *Workspace) Removable(given string) (Info, error) {
	return w.removal(given, func(*os.Root, string) error { return nil })
}

func (w *Workspace) removal(given string, f func(dir *os.Root, name string) error) (removed Info, err error) {
	err = w.detach(given, func(dir *os.Root, info Info) error {
		if info.Kind == Dir {
			if err := requireEmpty(given, dir, info.Name); err != nil {
				return err
			}
		}
		removed = info
		return f(dir, info.Name)
	})
	return removed, err
}

// detach calls f for what is at a path, with its directory, if its name may be taken away.
func (w *Workspace) detach(given string, f func(dir *os.Root, info Info) error) error {
	name, err := w.cleanChangeable(given)
	if err != nil {
		return err
	}
	dir, err := w.openDir(path.Dir(name))
	if err != nil {
		return w.Explain(given, err)
	}
	defer func() { _ = dir.Close() }()
	if err := w.checkWritable(given, name, dir); err != nil {
		return err
	}
	defer lock(context.Background(), dir)()
	w.commitMu.Lock()
	defer w.commitMu.Unlock()
	info, err := dir.Lstat(path.Base(name))
	if err != nil {
		return w.Explain(given, err)
	}
	found := Info{Entry: entry(path.Dir(name), info).Entry, Mode: info.Mode().Perm()}
	switch {
	case namesDir(given) && found.Kind != Dir:
		err = requireKind(Dir, given, info.Mode())
	case found.Kind == Other:
		err = requireKind(File, given, info.Mode())
	case found.Kind == File && found.Mode&0o222 == 0:
		err = readOnly(given, found.Mode)
	case found.Kind == Symlink:
		found.Target, err = dir.Readlink(found.Name)
	}
	if err != nil {
		return w.Explain(given, err)
	}
	return w.Explain(given, f(dir, found))
}

// cleanChangeable is [Clean] for the path of something that is created, moved or deleted.
func (w *Workspace) cleanChangeable(given string) (string, error) {
	name, err := Clean(given)
	if err != nil {
		return "", err
	}
	if name == "." {
		return "", newFault(nil, "%s is the workspace itself, which stays (give a path in it)", Show(given))
	}
	return name, w.checkWritable(given, name, nil)
}

// requireEmpty refuses a directory that has entries: what a recursive deletion would destroy
// does not fit into a question.
func requireEmpty(given string, dir *os.Root, name string) error {
	sub, err := dir.OpenFile(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Close() }()
	switch names, err := sub.Readdirnames(1); {
	case len(names) > 0:
		return newFault(nil, "%s is not empty (delete what is in it first)", Show(given))
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}

func readOnly(given string, mode fs.FileMode) error {
	return newFault(fs.ErrPermission, "%s is read-only, mode %04o (make it writable first, or choose another path)",
		Show(given), mode)
}
