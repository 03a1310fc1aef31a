package journal

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/safefile"
)

// Folder is the name of the directory of the files, in the user's directory for state.
const Folder = "logs"

// plain are the names that a file may have; those of plugins and servers may be anything.
var plain = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// fileName returns a name for the files of a plugin: its own, or one that no other plugin has.
func fileName(plugin string) string {
	if plain().MatchString(plugin) {
		return plugin
	}
	sum := sha256.Sum256([]byte(plugin))
	return "_" + hex.EncodeToString(sum[:16])
}

// kind returns what a file of the store is without the ending of one that was rotated; false: it is none.
func kind(name string) (current string, ok bool) {
	current = strings.TrimSuffix(name, ".1")
	return current, strings.HasSuffix(current, ".log") || strings.HasSuffix(current, ".events")
}

// prepare makes the directory, and removes what nothing was written to for long and, of the rest, the oldest if
// all together are too large.
func (s *Store) prepare() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(s.dir)
	if err == nil && (!info.IsDir() || !safefile.Private(info, 0o022)) {
		err = fmt.Errorf("%s is not a directory that only this user can change: remove it, or make it one", s.dir)
	}
	if err == nil {
		err = sweep(s.dir, time.Now(), maxAll)
	}
	if err == nil {
		s.swept = time.Now()
	}
	return err
}

func sweep(dir string, now time.Time, most int64) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			if _, ok := kind(e.Name()); ok {
				files = append(files, info)
			}
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	size := int64(0)
	for _, f := range files { // the newest first
		size += f.Size()
		if size > most || now.Sub(f.ModTime()) > keepFor {
			if e := os.Remove(filepath.Join(dir, f.Name())); !errors.Is(e, fs.ErrNotExist) { // another process does the same
				err = errors.Join(err, e)
			}
		}
	}
	return err
}
