package main

import (
	"bufio"
	"context"
	"fmt"
	"go/token"
	"go/types"
	"os"
	"slices"
	"sync"

	"golang.org/x/tools/go/gcexportdata"
	"golang.org/x/tools/go/packages"
)

// world has the types of packages that come as export data. All that is checked
// upon one world shares them, and the positions. It is safe for concurrent use.
type world struct {
	key   stamp // of what decides about the export data
	fset  *token.FileSet
	mu    sync.Mutex
	files map[string]string // of export data, by package; empty: there is none
	types map[string]*types.Package
	bad   map[string]error // why packages could not be loaded
}

// maxPositions bounds what a world's positions count, in bytes of source: a file
// is counted again each time that it is read. It takes some eighty megabytes.
const maxPositions = 1 << 28

// full says that a new world is due.
func (w *world) full() bool { return w.fset.Base() > maxPositions }

func newWorld(key stamp) *world {
	return &world{key: key, fset: token.NewFileSet(), files: map[string]string{}, types: map[string]*types.Package{}, bad: map[string]error{}}
}

// find makes the go command build those of the packages that are not known.
func (w *world) find(ctx context.Context, space *workspace, paths []string) error {
	w.mu.Lock()
	wanted := slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		_, known := w.files[path]
		return known || path == "unsafe"
	})
	w.mu.Unlock()
	if len(wanted) == 0 {
		return nil
	}
	found, err := space.run(ctx, packages.NeedName|packages.NeedExportFile, wanted...)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, path := range wanted {
		w.files[path] = ""
	}
	for _, p := range found {
		w.files[p.PkgPath] = p.ExportFile
	}
	return nil
}

// load reads the packages that were found. Reading one completes what others knew of
// it by name, while type-checking looks at all that it can reach: so all are read
// before anything is checked upon them.
func (w *world) load(paths []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, path := range paths {
		if w.types[path] != nil && w.types[path].Complete() || w.bad[path] != nil || path == "unsafe" {
			continue
		}
		if err := w.read(path); err != nil {
			w.bad[path] = err
		}
	}
}

// grown reports whether one of the packages is known by name only, from others: to
// complete it would change what may be checked upon at this moment.
func (w *world) grown(paths []string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(paths, func(path string) bool {
		p := w.types[path]
		return p != nil && !p.Complete() && w.bad[path] == nil
	})
}

// pkg is a package that was loaded.
func (w *world) pkg(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.types[path]; p != nil && p.Complete() {
		return p, nil
	}
	if err := w.bad[path]; err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("package %s was not loaded", path)
}

// read reads a package's export data. The lock is held.
func (w *world) read(path string) error {
	name := w.files[path]
	if name == "" {
		return fmt.Errorf("package %s does not compile", path)
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	r, err := gcexportdata.NewReader(bufio.NewReader(f)) //nolint:staticcheck // the go command gives archives until Go 1.28
	if err != nil {
		return fmt.Errorf("the export data of package %s cannot be read: %w", path, err)
	}
	_, err = gcexportdata.Read(r, w.fset, w.types, path)
	return err
}
