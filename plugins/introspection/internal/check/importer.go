package check

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

	"github.com/toolhost/toolhost/plugins/internal/source"
)

// importer has the types of packages that come as export data. All that is checked
// with one importer shares these types and the positions. It is safe for concurrent
// use.
type importer struct {
	modules source.Fingerprint // of the files that define the modules
	fset    *token.FileSet
	mu      sync.Mutex
	files   map[string]string // of export data, by import path; empty: there is none
	types   map[string]*types.Package
	errors  map[string]error // why packages could not be read
}

// maxPositions bounds the positions of an importer, in bytes of source: a file counts
// each time that it is read. They take some eighty megabytes.
const maxPositions = 1 << 28

// full reports whether a new importer is due.
func (m *importer) full() bool { return m.fset.Base() > maxPositions }

func newImporter(modules source.Fingerprint) *importer {
	return &importer{
		modules: modules, fset: token.NewFileSet(),
		files: map[string]string{}, types: map[string]*types.Package{}, errors: map[string]error{},
	}
}

// build makes the go command build packages, so that there is export data.
func (m *importer) build(ctx context.Context, g goCommand, paths []string) error {
	m.mu.Lock()
	wanted := slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		_, known := m.files[path]
		return known || path == "unsafe"
	})
	m.mu.Unlock()
	if len(wanted) == 0 {
		return nil
	}
	found, err := g.load(ctx, packages.NeedName|packages.NeedExportFile, wanted...)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, path := range wanted {
		m.files[path] = ""
	}
	for _, p := range found {
		m.files[p.PkgPath] = p.ExportFile
	}
	return nil
}

// read reads packages that were built. Reading a package completes what other
// packages refer to in it, and type-checking looks at all that it can reach: so all
// packages are read before anything is checked.
func (m *importer) read(paths []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, path := range paths {
		if m.types[path] != nil && m.types[path].Complete() || m.errors[path] != nil || path == "unsafe" {
			continue
		}
		if err := m.readOne(path); err != nil {
			m.errors[path] = err
		}
	}
}

// incomplete reports whether one of the packages is known only from references of
// others. To read it now would change types that other goroutines use.
func (m *importer) incomplete(paths ...string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(paths, func(path string) bool {
		p := m.types[path]
		return p != nil && !p.Complete() && m.errors[path] == nil
	})
}

// Import returns a package that was read.
func (m *importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.types[path]; p != nil && p.Complete() {
		return p, nil
	}
	if err := m.errors[path]; err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("package %s was not loaded", path)
}

// readOne reads a package's export data. The lock is held.
func (m *importer) readOne(path string) error {
	name := m.files[path]
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
	_, err = gcexportdata.Read(r, m.fset, m.types, path)
	return err
}
