//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// lock holds a lock in a directory. It gets its name only when it is held: what has
// the name and is not held has no owner any more.
func lock(dir string) (unlock func()) {
	draft := filepath.Join(dir, lockFile+".new")
	f, err := os.OpenFile(draft, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return func() {}
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		_ = os.Rename(draft, filepath.Join(dir, lockFile))
	}
	return func() { _ = f.Close() }
}

// sweep removes what plugins of this user left that were killed.
func sweep(temp string) {
	dirs, _ := filepath.Glob(filepath.Join(temp, privatePrefix+"*"))
	for _, dir := range dirs {
		if isOwn(dir) && isAbandoned(filepath.Join(dir, lockFile)) {
			removeAll(dir)
		}
	}
}

func isOwn(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

func isAbandoned(path string) bool {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil
}
