package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/internal/protect"
)

// checkWritable refuses a protected file, and those of git. Dir is its directory, or nil if that is not
// open yet: the directory that was checked by its path must be the one that is written
// to.
func (w *Workspace) checkWritable(given, name string, dir *os.Root) error {
	path := filepath.Join(w.path, filepath.FromSlash(name))
	parent, _, err := protect.Resolve(filepath.Dir(path))
	if err != nil {
		return w.Explain(given, err)
	}
	if err := w.checkGit(given, name, parent); err != nil || len(w.protected) == 0 {
		return err
	}
	covered, err := protect.Covers(w.protected, filepath.Join(parent, filepath.Base(path)))
	switch {
	case err != nil:
		return w.Explain(given, err)
	case covered:
		return protect.Refusal(Show(given))
	case dir == nil:
		return nil
	}
	at, err := os.Lstat(parent)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return w.Explain(given, err)
	}
	open, bad := dir.Stat(".")
	if err != nil || bad != nil || !os.SameFile(at, open) {
		return newFault(ErrChanged, "the directory of %s was moved during the write; nothing was written (try later)",
			Show(given))
	}
	return nil
}
