package lookup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/workspace"
	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
)

// File is a Go file as a caller names it.
type File struct {
	Name    string // as it is named in positions
	Path    string // absolute
	Content []byte
	Node    *check.Node // the package of a file outside of the workspace; nil inside
}

// maxFile bounds a file that is read, in bytes.
const maxFile = 16 << 20

// File returns a Go file: by its path relative to the workspace, or as positions name the
// files of other packages, such as net/http/client.go.
//
// # Errors
//
// permission_denied for a path that leads out of the workspace; a plain error if there is
// no such Go file.
func (f Finder) File(ctx context.Context, name string) (File, error) {
	name = filepath.ToSlash(name)
	if path.Ext(name) != ".go" {
		return File{}, fmt.Errorf("%s is not a Go file; give a path such as host/host.go or net/http/client.go", name)
	}
	inside, err := f.inWorkspace(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return inside, err
	}
	dir, base := path.Split(name)
	n, findErr := f.Snapshot.Find(ctx, strings.TrimSuffix(dir, "/"))
	if findErr != nil {
		return File{}, findErr
	}
	if n == nil {
		return File{}, fmt.Errorf("there is no file %s in the workspace, and no package %q", name, strings.TrimSuffix(dir, "/"))
	}
	files := slices.Concat(n.Files, n.LeftOut)
	at := slices.IndexFunc(files, func(file string) bool { return filepath.Base(file) == base })
	if at < 0 {
		var names []string
		for _, file := range files {
			names = append(names, filepath.Base(file))
		}
		return File{}, fmt.Errorf("package %s has no file %s%s", n.Path, base, DidYouMean(base, names))
	}
	return f.outside(n, files[at])
}

// outside returns a file of a package that is not below the root.
func (f Finder) outside(n *check.Node, file string) (File, error) {
	name := path.Join(n.Path, filepath.Base(file))
	opened, err := os.Open(file)
	if err != nil {
		return File{}, fmt.Errorf("%s cannot be read: %s", name, f.Snapshot.Root.Scrub(err.Error()))
	}
	content, err := read(name, opened)
	return File{Name: name, Path: file, Content: content, Node: n}, err
}

// inWorkspace returns a file below the root.
func (f Finder) inWorkspace(name string) (File, error) {
	w, err := workspace.Open(string(f.Snapshot.Root))
	if err != nil {
		return File{}, err
	}
	defer func() { _ = w.Close() }() // it is only read
	file, err := w.Open(name)
	if err != nil {
		return File{}, err
	}
	content, err := read(name, file)
	clean := path.Clean(name)
	return File{Name: clean, Path: f.Snapshot.Root.Join(clean), Content: content}, err
}

func read(name string, file *os.File) ([]byte, error) {
	defer func() { _ = file.Close() }() // it is only read
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(content) > maxFile {
		err = fmt.Errorf("%s has more than %d MiB; read parts of it with fs.read", name, maxFile>>20)
	}
	return content, err
}

// FileOf returns a file of a package by its absolute path.
func (f Finder) FileOf(n *check.Node, path string) (File, error) {
	if rel, ok := f.Snapshot.Root.Relative(path); ok {
		return f.inWorkspace(rel)
	}
	return f.outside(n, path)
}
