package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// fault is an error with its own text. The cause is kept for errors.Is and not shown,
// because its text has paths of the machine.
type fault struct {
	text  string
	cause error
}

func (f *fault) Error() string { return f.text }
func (f *fault) Unwrap() error { return f.cause }

func newFault(cause error, format string, args ...any) error {
	return &fault{text: fmt.Sprintf(format, args...), cause: cause}
}

// Hints for paths that lead out of a workspace.
const (
	hintRelative = "use a path relative to the workspace root"
	hintLink     = "a symbolic link on the way is absolute or leads outside; use a path that stays inside"
)

func escapeError(given, hint string) error {
	return tool.Errorf(tool.CodePermissionDenied, "path escapes the workspace: %s", Show(given)).
		At(callstage.Execute).Try(hint)
}

// Explain words an error about a path for the caller that gave the path. Errors of this
// package and of contexts stay as they are.
func (w *Workspace) Explain(given string, err error) error {
	var known *fault
	var coded *tool.Error
	switch {
	case err == nil, errors.As(err, &known), errors.As(err, &coded),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, w.errEscape):
		return escapeError(given, hintLink)
	case errors.Is(err, fs.ErrNotExist):
		return w.notFound(given, err)
	case errors.Is(err, syscall.ENOTDIR):
		return newFault(err, "%s does not exist: a part of the path is a file, not a directory (list the directory above it)",
			Show(given))
	case errors.Is(err, syscall.ELOOP):
		return newFault(err, "%s leads through too many symbolic links (use the path that they lead to)", Show(given))
	case errors.Is(err, fs.ErrPermission):
		return newFault(err, "%s: the system denies access (choose another path, or ask the operator to change its permissions)",
			Show(given))
	}
	return newFault(err, "%s: %v", Show(given), innermost(err))
}

// innermost returns the cause without the operation and the path that package os adds.
func innermost(err error) error {
	for {
		var onPath *fs.PathError
		var onLink *os.LinkError
		switch {
		case errors.As(err, &onPath):
			err = onPath.Err
		case errors.As(err, &onLink):
			err = onLink.Err
		default:
			return err
		}
	}
}

// notFound returns the error for a path that does not exist: it says how much of the path
// exists and suggests similar names.
func (w *Workspace) notFound(given string, cause error) error {
	missing, err := Clean(given)
	if err != nil {
		return err
	}
	for parent := path.Dir(missing); parent != "."; parent = path.Dir(parent) {
		if _, err := w.root.Stat(parent); err == nil {
			break
		}
		missing = parent
	}
	if target, err := w.root.Readlink(missing); err == nil {
		return newFault(cause, "not found: %s (%s is a symbolic link to %s, which does not exist)",
			Show(given), Show(missing), Show(target))
	}
	var hint []string
	if clean, _ := Clean(given); missing != clean {
		hint = append(hint, "there is no "+Show(missing))
	}
	if near := w.suggest(path.Dir(missing), path.Base(missing)); near != "" {
		hint = append(hint, near)
	}
	if len(hint) == 0 {
		return newFault(cause, "not found: %s (list the workspace to see what is there)", Show(given))
	}
	return newFault(cause, "not found: %s (%s)", Show(given), strings.Join(hint, "; "))
}
