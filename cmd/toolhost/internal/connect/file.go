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
	"github.com/toolhost/toolhost/internal/sanitize"
)

// maxFile bounds a client's file, in bytes: 64 MiB, as Claude Code keeps much in its own.
const maxFile = 64 << 20

// file is a client's file as it was read.
type file struct {
	path   string // links lead to target
	target string
	text   string
	exists bool
	mode   fs.FileMode
}

// read reads a file. One that may not be replaced is an error that says why.
func read(path string) (f file, err error) {
	f = file{path: path, target: path, mode: 0o600}
	shown := sanitize.Text(path)
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return f, fmt.Errorf("%s is a link that leads nowhere: make the file that it names, or remove the link", shown)
		}
		return f, nil
	}
	if err != nil {
		return f, err
	}
	open, info, err := safefile.Open(target, os.O_RDONLY)
	if err != nil {
		return f, fmt.Errorf("%s cannot be read: %w", shown, err)
	}
	defer func() { _ = open.Close() }()
	f.target, f.exists, f.mode = target, true, info.Mode().Perm()
	text, err := io.ReadAll(io.LimitReader(open, maxFile+1))
	switch st, ok := info.Sys().(*syscall.Stat_t); {
	case err != nil:
		return f, fmt.Errorf("%s cannot be read: %w", shown, err)
	case len(text) > maxFile:
		return f, fmt.Errorf("%s has more than %d bytes: is it the right file?", shown, maxFile)
	case !safefile.Private(info, 0):
		return f, fmt.Errorf("%s belongs to another user: run the command as that user", shown)
	case f.mode&0o200 == 0:
		return f, fmt.Errorf("%s is read-only: chmod u+w it, or use --print", shown)
	case ok && st.Nlink > 1: // a new file in its place would part them
		return f, fmt.Errorf("%s has %d names (hard links): change it by hand, as --print shows", shown, st.Nlink)
	}
	f.text = string(text)
	return f, nil
}

// errChanged is the error for another writer in between.
var errChanged = errors.New("another program has changed it in the meantime, and nothing was written: try again")

// write gives the file another content, in one step, unless it is not what was read any more.
func (f file) write(text string) error {
	same := func() error {
		if now, err := read(f.path); err != nil || now != f {
			return errors.Join(errChanged, err)
		}
		return nil
	}
	if !f.exists {
		if err := os.MkdirAll(filepath.Dir(f.target), 0o700); err != nil {
			return err
		}
		err := safefile.Create(f.target, []byte(text), f.mode)
		if errors.Is(err, fs.ErrExist) {
			return errChanged
		}
		return err
	}
	return safefile.ReplaceIf(f.target, []byte(text), f.mode, same)
}

// remove removes the file, unless it is not what was read any more.
func (f file) remove() error {
	if now, err := read(f.path); err != nil || now != f {
		return errors.Join(errChanged, err)
	}
	return os.Remove(f.target)
}
