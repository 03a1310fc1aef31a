package workspace

import (
	"context"
	"io"
	"os"
)

// Open opens a regular file for reading. The caller closes it, and lets
// [Workspace.Explain] word the errors of reading it.
//
// Symbolic links are followed as long as they stay inside. What is not a
// regular file is refused, and never waited for.
func (w *Workspace) Open(given string) (*os.File, error) {
	name, err := Clean(given)
	if err != nil {
		return nil, err
	}
	// Opening is not innocent: it lets the writer of a named pipe go on, and
	// makes some devices act. So look first.
	info, err := w.root.Stat(name)
	if err != nil {
		return nil, w.Explain(given, err)
	}
	if err := demand(File, given, info.Mode()); err != nil {
		return nil, err
	}
	return w.openFile(given, name)
}

// openFile trusts nothing that was seen before: something else may be there by
// now. So opening must not wait, and what was opened is looked at again.
func (w *Workspace) openFile(given, name string) (*os.File, error) {
	f, err := w.root.OpenFile(name, os.O_RDONLY|withoutWaiting, 0)
	if err != nil {
		return nil, w.Explain(given, err)
	}
	info, err := f.Stat()
	if err == nil {
		err = demand(File, given, info.Mode())
	}
	if err != nil {
		_ = f.Close() // it was only read
		return nil, w.Explain(given, err)
	}
	return f, nil
}

// OpenEntry opens a regular file that a walk has shown, for reading, as
// [Workspace.Open] does; its name may be one that nobody can give.
func (w *Workspace) OpenEntry(e Entry) (*os.File, error) { return w.openFile(e.Path, e.Path) }

// IsDir reports whether a path is that of a directory, or of a link to one.
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

// chunk is how much is read between two looks at the context, in bytes.
const chunk = 1 << 20

// Reader is r until the context ends, and from then on the context's error.
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
