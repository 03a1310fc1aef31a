package main

import (
	"fmt"
	"os"
	"path/filepath"
)

const (
	privatePrefix = "toolhost-execution-"
	lockFile      = "lock"
)

// privateDir is a directory of one call's own, in the plugin's temporary directory.
// As long as the plugin lives, and no longer, a file in it is locked, so that
// [sweep] can tell what a plugin that was killed left.
func privateDir() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", privatePrefix)
	if err != nil {
		return "", nil, fmt.Errorf("no temporary directory can be made: %w", err)
	}
	if direct, err := filepath.EvalSymlinks(dir); err == nil {
		dir = direct
	}
	unlock := lock(dir)
	return dir, func() { removeAll(dir); unlock() }, nil
}

// removeAll removes a directory that a program may have made unwritable.
func removeAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}
