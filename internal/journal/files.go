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

	"github.com/toolhost/toolhost/internal/safefile"
)

// Folder is the name of the directory of the files, in the user's directory for state.
const Folder = "logs"

// fileName returns a name for the files of a plugin, whose name may be anything: its own, or one that no other plugin has.
func fileName(plugin string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	if plugin != "" && len(plugin) <= 100 && !strings.ContainsAny(plugin[:1], "._-") && strings.Trim(plugin, letters+"._-") == "" {
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

// prepare makes the directory, and removes the oldest files if all together are too large, or too many.
func (s *Store) prepare() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(s.dir)
	if err == nil && (!info.IsDir() || !safefile.Private(info, 0o022)) {
		err = fmt.Errorf("%s is not a directory that only this user can change: remove it, or make it one", s.dir)
	}
	if err == nil {
		err = sweep(s.dir, maxAll, maxFiles)
	}
	return err
}

func sweep(dir string, most int64, files int) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var all []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			if _, ok := kind(e.Name()); ok {
				all = append(all, info)
			}
		}
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	for i, f := range all { // the newest first
		if most -= f.Size(); most < 0 || i >= files {
			if e := os.Remove(filepath.Join(dir, f.Name())); !errors.Is(e, fs.ErrNotExist) { // another process does the same
				err = errors.Join(err, e)
			}
		}
	}
	return err
}
