package manifest

import (
	"io/fs"
	"slices"
	"strings"
	"time"
)

// Bounds of what is kept, applied when a process writes its first manifest. A process
// writes one for each plugin, so they are exceeded by little.
const (
	maxKept  = 2048
	maxBytes = 64 << 20
	maxAge   = 30 * 24 * time.Hour // since the last use, to a day
)

// prune removes files that were not used for long, and the oldest if there are too many. A
// file without a name that this package gives, or that is not a regular one, does not count
// and stays.
func (d directory) prune() {
	root := d.Root()
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
		if !isName(e.Name()) && !strings.HasPrefix(e.Name(), temporary) {
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
		left := !isName(f.name) && age > time.Hour // by a process that was ended
		if left || age > maxAge || i >= maxKept || bytes > maxBytes {
			_ = root.Remove(f.name)
		}
	}
}
