package source

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// File is a file as a directory listing shows it. Two Files are equal if the
// file has not changed in between.
type File struct {
	Path    string // absolute
	size    int64
	modTime int64 // Unix time in nanoseconds
}

// moduleFiles decide which packages an import path means.
var moduleFiles = []string{"go.mod", "go.sum", "go.work", "go.work.sum"}

// Listing lists the Go files of a workspace by directory, and the files that
// define its modules. It belongs to one call.
type Listing struct {
	dirs    map[string][]File
	modules []File
}

// EmptyListing returns the listing of a workspace that is not in a module.
func EmptyListing() *Listing { return &Listing{dirs: map[string][]File{}} }

// List lists a workspace. It visits the directories that the go command's "./..."
// visits, and nested modules, which a go.work file may name. It leaves out
// vendored code, whose state vendor/modules.txt tells.
//
// # Errors
//
// A plain error if the root cannot be read; the context's error.
func List(ctx context.Context, root Root) (*Listing, error) {
	l := EmptyListing()
	err := filepath.WalkDir(string(root), func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		top := path == string(root)
		switch {
		case err != nil && d != nil && d.IsDir() && !top:
			return fs.SkipDir // it cannot be read, or was removed meanwhile
		case err != nil:
			return err
		case d.IsDir() && !top && skipped(d.Name()):
			return fs.SkipDir
		case !d.IsDir():
			l.add(path, d)
		}
		return nil
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("the workspace cannot be read: %s", root.Scrub(err.Error()))
	}
	l.add(root.Join("vendor", "modules.txt"), nil)
	for dir := string(root); dir != filepath.Dir(dir); {
		dir = filepath.Dir(dir)
		for _, name := range moduleFiles {
			l.add(filepath.Join(dir, name), nil)
		}
	}
	return l, nil
}

func skipped(dir string) bool {
	return strings.HasPrefix(dir, ".") || strings.HasPrefix(dir, "_") ||
		dir == "testdata" || dir == "vendor" || dir == "node_modules"
}

func (l *Listing) add(path string, d fs.DirEntry) {
	dir, name := filepath.Split(path)
	isModule := d == nil || slices.Contains(moduleFiles, name)
	if !isModule && !isGoFile(name) {
		return
	}
	f, ok := stat(path, d)
	switch {
	case !ok:
	case isModule:
		l.modules = append(l.modules, f)
	default:
		dir = filepath.Clean(dir)
		l.dirs[dir] = append(l.dirs[dir], f)
	}
}

// Modules returns the fingerprint of the files that define the modules, in the
// workspace and above it.
func (l *Listing) Modules() Fingerprint {
	h := NewHasher()
	h.Files(l.modules...)
	return h.Sum()
}

// ModuleDirs returns the directories that have a go.mod, in the workspace and above it.
func (l *Listing) ModuleDirs() []string {
	var out []string
	for _, f := range l.modules {
		if filepath.Base(f.Path) == "go.mod" {
			out = append(out, filepath.Dir(f.Path))
		}
	}
	return out
}

// Dirs returns the workspace's directories with Go files, sorted.
func (l *Listing) Dirs() []string { return SortedKeys(l.dirs) }

// Has reports whether a directory of the workspace has Go files.
func (l *Listing) Has(dir string) bool { return len(l.dirs[dir]) > 0 }

// In returns the Go files of a directory, also of one outside the workspace.
func (l *Listing) In(dir string) []File {
	files, ok := l.dirs[dir]
	if !ok {
		files = readDir(dir)
		l.dirs[dir] = files
	}
	return files
}

func readDir(dir string) []File {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var files []File
	for _, d := range entries {
		if d.IsDir() || !isGoFile(d.Name()) {
			continue
		}
		if f, ok := stat(filepath.Join(dir, d.Name()), d); ok {
			files = append(files, f)
		}
	}
	return files
}

func isGoFile(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_")
}

// stat follows links, because the content is what matters.
func stat(path string, d fs.DirEntry) (File, bool) {
	var info fs.FileInfo
	var err error
	if d != nil && d.Type().IsRegular() {
		info, err = d.Info()
	} else {
		info, err = os.Stat(path)
	}
	if err != nil || !info.Mode().IsRegular() {
		return File{}, false
	}
	return File{Path: path, size: info.Size(), modTime: info.ModTime().UnixNano()}, true
}
