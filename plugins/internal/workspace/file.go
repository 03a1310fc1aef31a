package workspace

import (
	"context"
	"io"
	"os"
	"syscall"
)

// noWait makes opening a named pipe return at once, whether or not another process has
// it open, and keeps a terminal from becoming the plugin's.
const noWait = syscall.O_NONBLOCK | syscall.O_NOCTTY

// Open opens a regular file for reading. The caller closes it, and passes errors of
// reading it to [Workspace.Explain].
//
// Symbolic links are followed as long as they stay inside. Anything but a regular file is
// refused, without waiting for it.
func (w *Workspace) Open(given string) (*os.File, error) {
	// Check before opening: opening lets the writer of a named pipe continue, and makes
	// some devices act.
	name, err := w.find(File, given)
	if err != nil {
		return nil, err
	}
	return w.openFile(given, name)
}

// find returns the clean path of a file or directory that is of the kind wanted.
func (w *Workspace) find(want Kind, given string) (string, error) {
	name, err := Clean(given)
	if err != nil {
		return "", err
	}
	info, err := w.root.Stat(name)
	if err != nil {
		return "", w.Explain(given, err)
	}
	return name, requireKind(want, given, info.Mode())
}

// openFile opens a file that may have been replaced since it was checked: opening must
// not wait, and what was opened is checked again.
func (w *Workspace) openFile(given, name string) (*os.File, error) {
	f, err := w.root.OpenFile(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, w.Explain(given, err)
	}
	info, err := f.Stat()
	if err == nil {
		err = requireKind(File, given, info.Mode())
	}
	if err != nil {
		_ = f.Close() // it was only read
		return nil, w.Explain(given, err)
	}
	return f, nil
}

// OpenEntry opens a regular file that a walk has found, as [Workspace.Open] does. Its
// name may be one that [Clean] does not accept.
func (w *Workspace) OpenEntry(e Entry) (*os.File, error) { return w.openFile(e.Path, e.Path) }

// IsDir reports whether a path leads to a directory.
func (w *Workspace) IsDir(given string) (bool, error) {
	name, err := Clean(given)
	if err != nil {
		return false, err
	}
	info, err := w.root.Stat(name)
	if err != nil {
		return false, w.Explain(given, err)
	}
	return info.IsDir(), nil
}

// chunk is how much is read between two checks of the context, in bytes.
const chunk = 1 << 20

// Reader returns a reader of r that fails with the context's error once the context has
// ended.
func Reader(ctx context.Context, r io.Reader) io.Reader { return reader{ctx, r} }

type reader struct {
	ctx context.Context // a reader has no other way to get it
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p[:min(len(p), chunk)])
}
