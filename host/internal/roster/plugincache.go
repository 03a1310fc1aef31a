package roster

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/internal/safefile"
)

// pluginCaches are the caches of their own that plugins have.
type pluginCaches struct {
	in        *string // as [Options.PluginCache]
	workspace string
	log       hclog.Logger
	sockets   *socketDirs
	base      func() string // makes the directory when a plugin needs it; without links, and empty: it cannot be used
}

func newPluginCaches(o Options, sockets *socketDirs) *pluginCaches {
	out := &pluginCaches{in: o.PluginCache, workspace: o.Workspace, log: o.Plugin.Logger, sockets: sockets}
	out.base = sync.OnceValue(out.open)
	return out
}

// open makes the directory below which plugins have caches of their own, and returns
// its path without links; empty if it cannot be used, or there is to be none.
func (p *pluginCaches) open() string {
	if p.in == nil {
		return ""
	}
	dir, err := *p.in, errNoCaches
	if dir != "" {
		dir, err = filepath.Abs(dir)
	}
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
		p.log.Warn("plugins have temporary caches, which end with the host: mend that, or name another directory", "error", err)
		return ""
	}
	p.log.Debug("plugins have caches of their own", "directory", dir)
	return dir
}

var errNoCaches = errors.New("this user has no directory for caches")

// makeCache makes a plugin's cache below a directory; empty: there is no directory.
func makeCache(dir, name string) (string, error) {
	if dir == "" {
		return "", nil
	}
	dir = filepath.Join(dir, name)
	err := os.Mkdir(dir, 0o700)
	if err == nil || errors.Is(err, fs.ErrExist) {
		err = cmp.Or(checkPrivate(dir, 0o077), checkRoom(dir))
	}
	if err != nil {
		return "", err
	}
	return dir, nil
}

// checkRoom returns an error if nothing can be written in a directory: a full disk may have room for the
// directory alone.
func checkRoom(dir string) error {
	f, err := os.CreateTemp(dir, ".room-*") // a new file, as the plugin writes there too
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4096))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// of returns what makes and returns the cache of the plugin at a path; nil: there are no caches. It is
// of that file, whatever version of it, and of the workspace: what a plugin runs of one repository may write
// there, and is not to be what it runs for another.
func (p *pluginCaches) of(owner, path string) func() string {
	if p.in == nil || filepath.Base(owner) != owner || owner == "." || !filepath.IsLocal(owner) {
		return nil
	}
	of := sha256.Sum256([]byte(path + "\x00" + p.workspace))
	name := fmt.Sprintf("%s-%x", owner, of[:8])
	var mu sync.Mutex
	chosen := "" // one start is not to have two
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		if chosen == "" || checkPrivate(chosen, 0o077) != nil {
			chosen = p.choose(owner, name)
		}
		_ = os.Chtimes(chosen, time.Now(), time.Now()) // by which unused ones are found
		return chosen
	}
}

// choose makes a plugin's cache where those of plugins are or, if that fails, in the host's directory
// for sockets: no other plugin sees it, and it is removed with that. Empty: it cannot be made.
func (p *pluginCaches) choose(owner, name string) string {
	dir, err := makeCache(p.base(), name)
	if dir != "" {
		return dir
	}
	temporary, none := p.sockets.path(owner)
	if none == nil {
		temporary, none = makeCache(temporary, name)
	}
	if err != nil || none != nil {
		p.log.Warn("a plugin's cache cannot be used: it has a temporary one, if any", "plugin", owner,
			"temporary", temporary, "error", errors.Join(err, none))
	}
	return temporary
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
