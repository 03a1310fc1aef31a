package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/internal/tree"
)

const (
	privatePrefix = "toolhost-execution-"
	lockFile      = "lock"
)

// removeTime bounds the removal of one directory: what a program left may go on writing.
const removeTime = 10 * time.Second

// privateDir is a directory of one call's own, in the plugin's temporary directory.
// As long as the plugin lives, and no longer, a file in it is locked, so that
// [sweep] can tell what a plugin that was killed left.
func privateDir() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", privatePrefix)
	if err != nil {
		return "", nil, fmt.Errorf("no temporary directory can be made: %w", err)
	}
	made, err := os.Lstat(dir)
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("no temporary directory can be used: %w", err), os.Remove(dir))
	}
	if direct, err := filepath.EvalSymlinks(dir); err == nil {
		dir = direct
	}
	unlock := lock(dir)
	return dir, func() { removeAll(dir, made); unlock() }, nil
}

// removeAll removes a directory that this plugin, or one before it, made.
func removeAll(dir string, made fs.FileInfo) {
	ctx, cancel := context.WithTimeout(context.Background(), removeTime)
	defer cancel()
	_ = tree.Remove(ctx, dir, made) // the next sweep finds what is left
}
