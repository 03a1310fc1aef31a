package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// openRegular opens a regular file and nothing else: behind a link could be a
// file that is not ours to write, and a FIFO or device keeps no log.
func openRegular(path string, flag int) (*os.File, error) {
	// Looked at before it is opened, as opening some devices does something.
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, notRegular(info.Mode())
	}
	f, err := openFile(path, flag)
	if err != nil {
		if isLink(err) {
			return nil, notRegular(fs.ModeSymlink)
		}
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notRegular(info.Mode())
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func notRegular(mode fs.FileMode) error {
	what := "not a regular file"
	switch {
	case mode&fs.ModeSymlink != 0:
		what = "a symbolic link"
	case mode.IsDir():
		what = "a directory"
	case mode&fs.ModeNamedPipe != 0:
		what = "a FIFO"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	}
	return fmt.Errorf("it is %s", what)
}

// isAt reports whether a path is the file's still.
func isAt(path string, f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(info, there), err
}

// failed is the error of a log that cannot be used.
func failed(path, doing string, err error) error {
	why := err
	if at, ok := err.(*fs.PathError); ok && at.Path == path { //nolint:errorlint // a text around it would be lost
		why = at.Err
	}
	e := &tool.Error{
		Code: tool.CodeInternal, Message: fmt.Sprintf("the audit log %s cannot be %s: %v", path, doing, why), Err: err,
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Code = tool.CodeOf(err)
	case isFull(err):
		e.Code, e.Hint = tool.CodeResourceExhausted, "make space there: the disk, or what this user may use of it, is full"
	case errors.Is(err, errLocked):
		e.Hint = lockedHint(path)
	case errors.Is(err, fs.ErrPermission):
		e.Hint = "check who owns the file and its directory"
	}
	return e
}

func isFull(err error) bool {
	for _, full := range fullErrors {
		if errors.Is(err, full) {
			return true
		}
	}
	return false
}
