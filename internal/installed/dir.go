// Package installed keeps the plugins that toolhost has installed, in one directory of its own, with
// the versions before them. Begin with [Open] and [Dir.Lock].
//
//	plugins/NAME                  the file that is served: this is a plugin directory
//	plugins/.signed/SHA256/       manifest.json and manifest.json.minisig of a file, by its digest
//	content/SHA256                the files and manifests of all versions, by their digests
//	versions.json                 which versions of which plugin there are
//	notices.json                  what was last found out about them where they came from
//	downloads/                    what is being fetched
//	lock                          is locked by whoever changes anything
//
// A version is complete before anything is served from it, and is then served by one rename. What the
// record does not name, and what begins with .new-, was not finished, and is removed by whoever has the
// lock next.
package installed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/marked"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/state"
)

// The directories in the directory.
const (
	pluginsDir   = "plugins"
	signedDir    = "plugins/.signed"
	contentDir   = "content"
	downloadsDir = "downloads"
	recordName   = "versions.json"
	saidName     = "notices.json"
	lockName     = "lock"
)

// Name is the name of the directory, where no other is chosen.
const Name = "installed"

// lockTime bounds how long others are waited for, and maxRecord the record, in bytes.
const (
	lockTime  = 10 * time.Minute
	maxRecord = 16 << 20
)

// Dir is the directory of what is installed.
type Dir struct {
	marked    *marked.Dir
	record    state.File[map[string][]Version] // what was put in place last first
	said      state.File[map[string]Said]
	downloads *os.Root
	lock      *os.File // nil: not locked
}

// PluginDir is the plugin directory in a directory of installed plugins.
func PluginDir(dir string) string { return filepath.Join(dir, pluginsDir) }

// Open opens the directory, or makes it.
//
// # Errors
//
// Those of [marked.Open]: the directory is not toolhost's, or not only this user's.
func Open(dir string) (*Dir, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	m, err := marked.Open(filepath.Dir(abs), filepath.Base(abs))
	if err != nil {
		return nil, fmt.Errorf("plugins cannot be installed to %s: %w", abs, err)
	}
	d := &Dir{
		marked: m, record: state.File[map[string][]Version]{Path: filepath.Join(abs, recordName), Max: maxRecord},
		said: state.File[map[string]Said]{Path: filepath.Join(abs, saidName), Max: maxRecord},
	}
	for _, sub := range []string{signedDir, contentDir, downloadsDir} {
		err = errors.Join(err, m.Root().MkdirAll(sub, 0o700))
	}
	if err == nil {
		d.downloads, err = m.Root().OpenRoot(downloadsDir)
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return d, nil
}

// OpenExisting is [Open], but does not make the directory.
//
// # Errors
//
// [fs.ErrNotExist] if there is none; those of [Open].
func OpenExisting(dir string) (*Dir, error) {
	if _, err := os.Lstat(dir); err != nil {
		return nil, err
	}
	return Open(dir)
}

// Close closes the directory, and unlocks it.
func (d *Dir) Close() error {
	var err error
	if d.lock != nil {
		err = errors.Join(safefile.Unlock(d.lock), d.lock.Close())
	}
	return errors.Join(err, d.downloads.Close(), d.marked.Close())
}

// PluginDir is the path of the plugin directory.
func (d *Dir) PluginDir() string { return PluginDir(d.marked.Path()) }

// Downloads is the directory for what is fetched, and its path.
func (d *Dir) Downloads() (*os.Root, string) {
	return d.downloads, d.at(downloadsDir)
}

// Lock waits until no other process changes the directory, keeps others from it until [Dir.Close],
// and removes what one that was ended has left. Doing is shown to others that wait; waiting is told,
// once, whom this one waits for.
//
// # Errors
//
// [safefile.ErrLocked] after ten minutes; those of ctx and of the system.
func (d *Dir) Lock(ctx context.Context, doing string, waiting func(holder string)) error {
	f, err := d.marked.Root().OpenFile(lockName, os.O_RDWR|os.O_CREATE|safefile.NoFollow, 0o600)
	if err != nil {
		return err
	}
	told := false
	for end := time.Now().Add(lockTime); ; {
		if err = safefile.Lock(f, safefile.Exclusive, time.Now().Add(100*time.Millisecond)); err == nil {
			break
		}
		if err == nil || !errors.Is(err, safefile.ErrLocked) {
			return errors.Join(err, f.Close())
		}
		if ctx.Err() != nil || time.Now().After(end) {
			return errors.Join(fmt.Errorf("%s is being changed by %s: %w", d.marked.Path(), d.holder(), err), ctx.Err(), f.Close())
		}
		if !told {
			waiting(d.holder())
			told = true
		}
	}
	d.lock = f
	err = f.Truncate(0)
	if err == nil {
		_, err = fmt.Fprintf(f, "process %d (%s)", os.Getpid(), sanitize.Line(doing, 300))
	}
	if err == nil {
		err = d.prune()
	}
	return err
}

// holder says who has the lock.
func (d *Dir) holder() string {
	text, err := marked.ReadPrivate(d.marked.Root(), lockName, 1<<10)
	if err != nil || len(text) == 0 {
		return "another process"
	}
	return sanitize.Line(string(text), 400)
}

// prune removes what no version has and what was not finished.
func (d *Dir) prune() error {
	all, err := d.record.Read()
	if err != nil {
		return err
	}
	used := map[string]bool{}
	for _, versions := range all {
		for _, v := range versions {
			used[v.SHA256], used[v.Manifest] = true, true
		}
	}
	for _, dir := range []string{pluginsDir, signedDir, contentDir} {
		inside, bad := fs.ReadDir(d.marked.Root().FS(), dir)
		err = errors.Join(err, bad)
		for _, e := range inside {
			if strings.HasPrefix(e.Name(), marked.Temporary) || dir != pluginsDir && !used[e.Name()] {
				err = errors.Join(err, d.marked.Root().RemoveAll(path.Join(dir, e.Name())))
			}
		}
	}
	return err
}
