// Package installed keeps the plugins that toolhost has installed, in one directory of its own, with
// the versions before them. Begin with [Open] and [Dir.Lock].
//
//	plugins/NAME                  the file that is served: this is a plugin directory
//	plugins/.signed/SHA256/       manifest.json and manifest.json.minisig of a file, by its digest
//	versions/NAME/VERSION/        the file, its manifest, its signature, and where it came from
//	downloads/                    what is being fetched
//	lock                          is locked by whoever changes anything
//
// A version is complete under its name before anything is served from it, and is then served by one
// rename. Names that begin with .new- are of what was not finished, and are removed by whoever has
// the lock next.
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
)

// The directories in the directory.
const (
	pluginsDir   = "plugins"
	signedDir    = "plugins/.signed"
	versionsDir  = "versions"
	downloadsDir = "downloads"
	lockName     = "lock"
)

// Name is the name of the directory, where no other is chosen.
const Name = "installed"

// lockTime bounds how long others are waited for.
const lockTime = 10 * time.Minute

// Dir is the directory of what is installed.
type Dir struct {
	marked    *marked.Dir
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
	d := &Dir{marked: m}
	for _, sub := range []string{signedDir, versionsDir, downloadsDir} {
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
	return d.downloads, filepath.Join(d.marked.Path(), downloadsDir)
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
	text := fmt.Sprintf("process %d (%s)", os.Getpid(), sanitize.Line(doing, 300))
	if err := errors.Join(f.Truncate(0), writeAt(f, text)); err != nil {
		return err
	}
	return d.sweep()
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
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

// sweep removes what an earlier process did not finish.
func (d *Dir) sweep() error {
	all := []string{pluginsDir, signedDir}
	names, err := d.names(versionsDir)
	for _, name := range names {
		all = append(all, path.Join(versionsDir, name))
	}
	for _, dir := range all {
		inside, bad := d.readDir(dir)
		err = errors.Join(err, bad)
		for _, e := range inside {
			if strings.HasPrefix(e.Name(), marked.Temporary) {
				err = errors.Join(err, d.marked.Root().RemoveAll(path.Join(dir, e.Name())))
			}
		}
	}
	return err
}

// names are the entries of a directory that are not hidden.
func (d *Dir) names(dir string) (out []string, err error) {
	entries, err := d.readDir(dir)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			out = append(out, e.Name())
		}
	}
	return out, err
}

// maxEntries bounds the entries of a directory.
const maxEntries = 10_000

func (d *Dir) readDir(dir string) ([]fs.DirEntry, error) {
	f, err := d.marked.Root().Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	entries, err := f.ReadDir(maxEntries)
	if len(entries) == 0 {
		return nil, nil
	}
	return entries, err
}

// sync makes the entries of a directory durable.
func (d *Dir) sync(dir string) error {
	f, err := d.marked.Root().Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
