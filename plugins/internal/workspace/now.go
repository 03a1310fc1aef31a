package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
)

// Now is what a write would find.
type Now struct {
	Path   string // as [Clean] has it
	Exists bool
	Size   int64
	// Content is never nil, save for a file larger than [MaxChange].
	Content []byte
}

// Now reads what is where a file is to be written. It refuses what a write
// would, and changes nothing.
func (w *Workspace) Now(ctx context.Context, given string) (Now, error) {
	name, err := cleanFile(given)
	if err != nil {
		return Now{}, err
	}
	if err := w.mayWrite(given, name, nil); err != nil {
		return Now{}, err
	}
	out := Now{Path: name, Content: []byte{}}
	dir, err := w.openDir(path.Dir(name))
	if errors.Is(err, fs.ErrNotExist) {
		return out, w.Explain(given, w.canBeMade(path.Dir(name)))
	}
	if err != nil {
		return Now{}, w.Explain(given, err)
	}
	defer func() { _ = dir.Close() }()
	r := replacement{dir: dir, name: path.Base(name)}
	if err := w.inspect(given, name, &r); err != nil || r.created {
		return out, err
	}
	out.Exists = true
	out.Content, out.Size, err = readBounded(ctx, dir, r.name)
	if err != nil {
		return Now{}, w.Explain(given, err)
	}
	return out, nil
}

// Changeable refuses a file that is too large for [Workspace.Change].
func (n Now) Changeable(given string) error {
	if n.Content == nil {
		return complain(nil, "%s has %d bytes, and at most %d can be changed in place (write it as a whole)", show(given), n.Size, MaxChange)
	}
	return nil
}

// canBeMade reports why a directory that is not there could not be made.
func (w *Workspace) canBeMade(name string) error {
	for ; name != "."; name = path.Dir(name) {
		if _, err := w.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		dir, err := w.openDir(name) // a link may lead nowhere
		if err != nil {
			return err
		}
		return dir.Close()
	}
	return nil
}

func readBounded(ctx context.Context, dir *os.Root, name string) ([]byte, int64, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, 0, err
	}
	if info.Size() > MaxChange {
		return nil, info.Size(), nil
	}
	content, err := readAll(ctx, dir, name)
	if len(content) > MaxChange { // it grows
		return nil, int64(len(content)), err
	}
	return content, int64(len(content)), err
}
