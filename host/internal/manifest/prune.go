package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// What is kept at most, looked at when a process writes its first manifest. A
// process writes one for each plugin, so it is passed by little.
const (
	maxKept  = 2048
	maxBytes = 64 << 20
	maxAge   = 30 * 24 * time.Hour // since the last use, to a day
)

// prune removes what was not used for long, and the oldest of what is too much. What
// does not have a name that this package gives, or is not a regular file, is not
// counted and stays.
func (d *directory) prune() {
	root := d.root.Load()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return
	}
	type file struct {
		name string
		size int64
		used time.Time
	}
	var files []file
	for _, e := range entries {
		if !isKey(e.Name()) && !strings.HasPrefix(e.Name(), temporary) {
			continue
		}
		if info, err := root.Lstat(e.Name()); err == nil && info.Mode().IsRegular() {
			files = append(files, file{e.Name(), info.Size(), info.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return b.used.Compare(a.used) }) // the newest first
	now, bytes := time.Now(), int64(0)
	for i, f := range files {
		age := now.Sub(f.used)
		bytes += f.size
		left := !isKey(f.name) && age > time.Hour // by a process that was ended
		if left || age > maxAge || i >= maxKept || bytes > maxBytes {
			_ = root.Remove(f.name)
		}
	}
}

// isKey reports whether a name is that of a manifest: 64 lower-case hexadecimal digits.
func isKey(name string) bool {
	return len(name) == hex.EncodedLen(sha256.Size) && strings.Trim(name, "0123456789abcdef") == ""
}
