package manifest

import (
	"os"
	"path/filepath"
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

// temporary begins the names of files that are being written.
const temporary = ".new-"

// prune removes what was not used for long, and the oldest of what is too much.
func prune(dir string) {
	entries, err := os.ReadDir(dir)
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
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, file{e.Name(), info.Size(), info.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return b.used.Compare(a.used) }) // the newest first
	now, bytes := time.Now(), int64(0)
	for i, f := range files {
		age := now.Sub(f.used)
		bytes += f.size
		left := strings.HasPrefix(f.name, temporary) && age > time.Hour // by a process that was ended
		if left || age > maxAge || i >= maxKept || bytes > maxBytes {
			_ = os.Remove(filepath.Join(dir, f.name))
		}
	}
}
