package audit

import (
	"context"
	"errors"
	"io/fs"

	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// failed returns the error for a log that cannot be used.
func failed(path, doing string, err error) error {
	why := err
	if at, ok := err.(*fs.PathError); ok && at.Path == path { //nolint:errorlint // a text around it would be lost
		why = at.Err
	}
	e := tool.Errorf(tool.CodeInternal, "the audit log %s cannot be %s: %v", path, doing, why).Because(err)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Code = tool.CodeOf(err)
	case safefile.IsFull(err):
		e.Code, e.Hint = tool.CodeResourceExhausted, "make space there: the disk, or what this user may use of it, is full"
	case errors.Is(err, safefile.ErrLocked):
		e.Hint = lockedHint(path)
	case errors.Is(err, fs.ErrPermission):
		e.Hint = "check who owns the file and its directory"
	}
	return e
}
