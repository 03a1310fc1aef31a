package roster

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/internal/safefile"
)

// openPluginCache makes the directory below which plugins have caches of their own, and returns
// its path without links; empty if it cannot be used.
func openPluginCache(dir string, log hclog.Logger) string {
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		err = checkPrivate(dir, 0o022)
	}
	if err != nil {
		log.Warn("plugins have no caches of their own: mend that, or name another directory", "error", err)
		return ""
	}
	return dir
}

// cacheOf returns what makes and returns the cache of the plugin at a path; nil: there are no caches. It is
// of that file, whatever version of it, and of the workspace: what a plugin runs of one repository may write
// there, and is not to be what it runs for another.
func (r *Roster) cacheOf(owner, path string) func() string {
	if r.pluginCache == "" || filepath.Base(owner) != owner || owner == "." || !filepath.IsLocal(owner) {
		return nil
	}
	of := sha256.Sum256([]byte(path + "\x00" + r.opts.Workspace))
	dir := filepath.Join(r.pluginCache, fmt.Sprintf("%s-%x", owner, of[:8]))
	return func() string {
		err := os.Mkdir(dir, 0o700)
		if err == nil || errors.Is(err, fs.ErrExist) {
			err = checkPrivate(dir, 0o077)
		}
		if err != nil {
			r.log.Warn("the plugin has no cache of its own", "plugin", owner, "error", err)
			return ""
		}
		_ = os.Chtimes(dir, time.Now(), time.Now()) // by which unused ones are found
		return dir
	}
}

// checkPrivate returns an error unless a path is a directory of this user, and no link to one, in
// which others have none of these permissions.
func checkPrivate(dir string, permissions fs.FileMode) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	case !safefile.Private(info, permissions):
		return fmt.Errorf("%s belongs to another user, or is open to others", dir)
	}
	return nil
}
