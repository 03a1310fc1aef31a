//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
)

// lock holds a lock in a directory. It gets its name only when it is held: what has
// the name and is not held has no owner any more.
func lock(dir string) (unlock func()) {
	draft := filepath.Join(dir, lockFile+".new")
	f, err := os.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return func() {}
	}
	_, err = f.WriteString(lockContent)
	if err == nil && safefile.Lock(f, safefile.Exclusive, time.Time{}) == nil {
		_ = os.Rename(draft, filepath.Join(dir, lockFile))
	}
	return func() { _ = f.Close() }
}

// lockContent marks a directory as one that this plugin made.
const lockContent = "toolhost execution\n"

// sweep removes what plugins of this user left that were killed. Only what such a plugin
// has made is taken: by its name, closed to other users, and with its mark inside.
func sweep(temp string) {
	entries, _ := os.ReadDir(temp)
	for _, e := range entries {
		dir := filepath.Join(temp, e.Name())
		if !strings.HasPrefix(e.Name(), privatePrefix) {
			continue
		}
		if made, err := os.Lstat(dir); err == nil && made.IsDir() && safefile.Private(made, 0o077) && isAbandoned(filepath.Join(dir, lockFile)) {
			removeAll(dir, made)
		}
	}
}

func isAbandoned(path string) bool {
	f, _, err := safefile.Open(path, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	mark := make([]byte, len(lockContent)+1)
	n, _ := f.ReadAt(mark, 0)
	return string(mark[:n]) == lockContent && safefile.Lock(f, safefile.Exclusive, time.Time{}) == nil
}
