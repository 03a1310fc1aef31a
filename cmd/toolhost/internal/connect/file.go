package connect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/toolhost/toolhost/internal/safefile"
)

const maxFile = 64 << 20 // bytes: Claude Code keeps much in its own

// file is a file as it was read.
type file struct {
	path, target string // links lead from the one to the other
	text         string
	exists       bool
	mode         fs.FileMode
}

// read reads a file. One that may not be replaced is an error that says why.
func read(path string) (file, error) {
	f := file{path: path, target: path, mode: 0o600}
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return f, errors.New("it is a link that leads nowhere: make the file that it names, or remove the link")
		}
		return f, nil
	}
	if err != nil {
		return f, err
	}
	open, info, err := safefile.Open(target, os.O_RDONLY)
	if err != nil {
		return f, err
	}
	defer func() { _ = open.Close() }()
	text, err := io.ReadAll(io.LimitReader(open, maxFile+1))
	switch st, ok := info.Sys().(*syscall.Stat_t); {
	case err != nil:
		return f, err
	case len(text) > maxFile:
		return f, fmt.Errorf("it has more than %d bytes: is it the right file?", maxFile)
	case !safefile.Private(info, 0):
		return f, errors.New("it belongs to another user: run the command as that user")
	case info.Mode()&0o200 == 0:
		return f, errors.New("it is read-only: chmod u+w it, or use --print")
	case ok && st.Nlink > 1: // a new file in its place would part them
		return f, fmt.Errorf("it has %d names (hard links): change it by hand, as --print shows", st.Nlink)
	}
	return file{path, target, string(text), true, info.Mode().Perm()}, nil
}

// write gives the file another content, in one step, or removes it, unless it is not what was read any more.
func (f file) write(text string, remove bool) error {
	same := func() error {
		if now, err := read(f.path); err != nil || now != f {
			return errors.New("another program has changed it in the meantime, and nothing was written: try again")
		}
		return nil
	}
	switch {
	case remove:
		if err := same(); err != nil {
			return err
		}
		return os.Remove(f.target)
	case f.exists:
		return safefile.ReplaceIf(f.target, []byte(text), f.mode, same)
	}
	if err := os.MkdirAll(filepath.Dir(f.target), 0o700); err != nil {
		return err
	}
	err := safefile.Create(f.target, []byte(text), f.mode)
	if errors.Is(err, fs.ErrExist) {
		return same()
	}
	return err
}
