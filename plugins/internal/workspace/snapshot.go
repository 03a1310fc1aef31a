package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
)

// Snapshot is the state of a file before a write.
type Snapshot struct {
	Path   string // as [Clean] has it
	Exists bool
	Size   int64
	// Content is nil only for a file larger than [MaxChange].
	Content []byte
}

// Snapshot reads the file that a write would replace. It refuses what a write would
// refuse, and changes nothing.
func (w *Workspace) Snapshot(ctx context.Context, given string) (Snapshot, error) {
	name, err := cleanFilePath(given)
	if err != nil {
		return Snapshot{}, err
	}
	if err := w.checkWritable(given, name, nil); err != nil {
		return Snapshot{}, err
	}
	out := Snapshot{Path: name, Content: []byte{}}
	dir, err := w.openDir(path.Dir(name))
	if errors.Is(err, fs.ErrNotExist) {
		return out, w.Explain(given, w.checkCreatable(path.Dir(name)))
	}
	if err != nil {
		return Snapshot{}, w.Explain(given, err)
	}
	defer func() { _ = dir.Close() }()
	r := replacement{dir: dir, name: path.Base(name)}
	if err := w.inspect(given, name, &r); err != nil || r.created {
		return out, err
	}
	out.Exists = true
	out.Content, out.Size, err = readForChange(ctx, dir, r.name)
	if err != nil {
		return Snapshot{}, w.Explain(given, err)
	}
	return out, nil
}

// Changeable refuses a file that is too large for [Workspace.Change].
func (s Snapshot) Changeable(given string) error {
	if s.Content == nil {
		return newFault(nil, "%s has %d bytes, and at most %d can be changed in place (write it as a whole)",
			Show(given), s.Size, MaxChange)
	}
	return nil
}

// checkCreatable returns why a missing directory could not be made; nil if it could.
func (w *Workspace) checkCreatable(name string) error {
	for ; name != "."; name = path.Dir(name) {
		if _, err := w.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		dir, err := w.openDir(name) // it may be a link that leads nowhere
		if err != nil {
			return err
		}
		return dir.Close()
	}
	return nil
}

func readForChange(ctx context.Context, dir *os.Root, name string) ([]byte, int64, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, 0, err
	}
	if info.Size() > MaxChange {
		return nil, info.Size(), nil
	}
	content, err := readAll(ctx, dir, name)
	if len(content) > MaxChange { // it has grown
		return nil, int64(len(content)), err
	}
	return content, int64(len(content)), err
}
