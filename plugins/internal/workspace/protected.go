package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/internal/protect"
)

// mayWrite refuses what is protected. Dir is the directory that the file is in, nil
// where it is not open yet: what was looked at by its path has to be the directory
// that is written to.
func (w *Workspace) mayWrite(given, name string, dir *os.Root) error {
	if len(w.protected) == 0 {
		return nil
	}
	path := filepath.Join(w.path, filepath.FromSlash(name))
	parent, _, err := protect.Resolve(filepath.Dir(path))
	if err != nil {
		return w.Explain(given, err)
	}
	covered, err := protect.Covers(w.protected, filepath.Join(parent, filepath.Base(path)))
	switch {
	case err != nil:
		return w.Explain(given, err)
	case covered:
		return protect.Refusal(show(given))
	case dir == nil:
		return nil
	}
	at, err := os.Lstat(parent)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return w.Explain(given, err)
	}
	open, bad := dir.Stat(".")
	if err != nil || bad != nil || !os.SameFile(at, open) {
		return complain(ErrChanged, "the directory of %s is moved while it is written; nothing was written (try later)", show(given))
	}
	return nil
}
