package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// stamp stands for the state of some files. Different stamps mean that what was
// read from the files may no longer hold.
type stamp [sha256.Size]byte

// file is a file as a directory listing shows it.
type file struct {
	path  string
	size  int64
	mtime int64 // nanoseconds
}

// stamper sums up files and stamps in the order in which they are added.
type stamper struct{ hash.Hash }

func newStamper() stamper { return stamper{sha256.New()} }

func (s stamper) text(t string) {
	s.number(int64(len(t)))
	s.Write([]byte(t))
}

func (s stamper) number(n int64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	s.Write(b[:])
}

func (s stamper) files(files []file) {
	s.number(int64(len(files)))
	for _, f := range files {
		s.text(f.path)
		s.number(f.size)
		s.number(f.mtime)
	}
}

func (s stamper) stamp() (out stamp) {
	s.Sum(out[:0])
	return out
}

// moduleFiles decide which packages an import path means.
var moduleFiles = []string{"go.mod", "go.sum", "go.work", "go.work.sum"}

// tree is a listing of the workspace: its Go files by directory, and the files
// that say which modules there are.
type tree struct {
	dirs    map[string][]file
	modules []file
}

// scan lists a workspace. It goes where the go command's "./..." goes, and into
// nested modules, which a go.work file may name; not into vendored code, whose
// state vendor/modules.txt tells.
func scan(ctx context.Context, root string) (*tree, error) {
	t := &tree{dirs: map[string][]file{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			// What cannot be read, or is gone already, is not there.
			if d != nil && d.IsDir() && path != root {
				return fs.SkipDir
			}
			return err
		}
		if d.IsDir() {
			if path != root && skipped(d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		t.add(path, d)
		return nil
	})
	if err != nil {
		return nil, err
	}
	t.add(filepath.Join(root, "vendor", "modules.txt"), nil)
	return t, nil
}

func skipped(dir string) bool {
	return strings.HasPrefix(dir, ".") || strings.HasPrefix(dir, "_") ||
		dir == "testdata" || dir == "vendor" || dir == "node_modules"
}

func (t *tree) add(path string, d fs.DirEntry) {
	dir, name := filepath.Split(path)
	isModule := d == nil || slices.Contains(moduleFiles, name)
	if !isModule && !isGoFile(name) {
		return
	}
	f, ok := stat(path, d)
	switch {
	case !ok:
	case isModule:
		t.modules = append(t.modules, f)
	default:
		dir = filepath.Clean(dir)
		t.dirs[dir] = append(t.dirs[dir], f)
	}
}

// above adds the module files of a directory over the root.
func (t *tree) above(dir string) {
	for _, name := range moduleFiles {
		t.add(filepath.Join(dir, name), nil)
	}
}

// in lists a directory, also one that is not part of the workspace.
func (t *tree) in(dir string) []file {
	files, ok := t.dirs[dir]
	if !ok {
		files = list(dir)
		t.dirs[dir] = files
	}
	return files
}

func list(dir string) []file {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var files []file
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

// stat follows links, since it is the content that matters.
func stat(path string, d fs.DirEntry) (file, bool) {
	var info fs.FileInfo
	var err error
	if d != nil && d.Type().IsRegular() {
		info, err = d.Info()
	} else {
		info, err = os.Stat(path)
	}
	if err != nil || !info.Mode().IsRegular() {
		return file{}, false
	}
	return file{path: path, size: info.Size(), mtime: info.ModTime().UnixNano()}, true
}
