package check

import (
	"context"
	"go/types"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/plugins/internal/source"
	"github.com/toolhost/toolhost/plugins/introspection/internal/xref"
)

// checker keeps the results of type-checking the workspace. It is safe for concurrent
// use.
//
// Types come from two places: the workspace's packages, and those that replace
// modules by directories, are checked from source; all others come from an
// [importer]. The result for a package is kept until its files change, or what it
// imports declares something else or on other lines: an edit within one line of a
// function's body concerns one package alone.
type checker struct {
	lastProgram  last[*xref.Program]
	lastOutlines last[*Outlines]
	progress     progress // of the next program

	mu       sync.Mutex // held by a batch
	importer *importer
	results  map[string]result // by ID
}

// result is what is known of one package.
type result struct {
	outlineOf source.Fingerprint // what decides about the outline
	serial    int64              // of the outline: a new one has a new serial, even of the same fingerprint
	outline   *types.Package     // the types that the package declares
	errors    []string           // in the outline
	indexOf   source.Fingerprint // what decides about the index
	index     *xref.Index
}

// batch type-checks packages, using and adding to the results of earlier batches. One
// batch runs at a time; it checks many packages at once.
type batch struct {
	root     source.Root
	files    *source.Cache
	checker  *checker
	graph    *Graph
	listed   map[string]source.File // the files that are checked from source
	importer *importer
	results  map[string]result // of earlier batches
	parser   parser
	keys     xref.Keys

	mu    sync.Mutex
	tasks map[string]*task
}

// task is the work on one package.
type task struct {
	result
	fingerprinting, outlining sync.Once
	err                       error // of the outline
}

// newBatch waits for the batch before, and begins another. Its importer has the
// package extra too, unless that is empty.
func (s *Snapshot) newBatch(ctx context.Context, g *Graph, extra string) (*batch, error) {
	c := &s.workspace.checker
	b := &batch{
		root: s.Root, files: &s.workspace.files, checker: c, graph: g,
		listed: map[string]source.File{}, tasks: map[string]*task{},
	}
	for _, dir := range g.sourceDirs() {
		for _, f := range s.listing.In(dir) {
			b.listed[f.Path] = f
		}
	}
	imports := g.imported()
	c.mu.Lock()
	if m := c.importer; m == nil || m.modules != s.modules || m.full() || m.incomplete(imports...) {
		c.importer, c.results = newImporter(s.modules), map[string]result{}
	}
	b.importer, b.results = c.importer, c.results
	if extra != "" {
		imports = append(imports, extra)
		if b.importer.incomplete(extra) {
			// The package is of interest to this batch only: the results of the others stay.
			b.importer, b.results = newImporter(s.modules), map[string]result{}
		}
	}
	b.parser = parser{fset: b.importer.fset, parsed: map[string]*parsedFile{}}
	b.keys.Fset = b.importer.fset
	err := ctx.Err()
	if err == nil {
		err = b.importer.build(ctx, s.workspace.command(), imports)
	}
	if err != nil {
		c.mu.Unlock()
		return nil, err
	}
	b.importer.read(imports)
	return b, nil
}

// end keeps the results and lets the next batch begin.
func (b *batch) end() {
	for id := range b.results {
		if b.graph.variants[id] == nil {
			delete(b.results, id)
		}
	}
	for id, t := range b.tasks {
		b.results[id] = t.result
	}
	b.checker.mu.Unlock()
}

var serials atomic.Int64

// task returns the task for a package, with the earlier results that still hold.
func (b *batch) task(n *Node) *task {
	b.mu.Lock()
	t := b.tasks[n.id]
	if t == nil {
		t = &task{}
		b.tasks[n.id] = t
	}
	b.mu.Unlock()
	t.fingerprinting.Do(func() {
		t.outlineOf, t.indexOf = b.fingerprints(n)
		old := b.results[n.id]
		if old.outlineOf == t.outlineOf {
			t.outline, t.errors, t.serial = old.outline, old.errors, old.serial
		} else {
			t.serial = serials.Add(1)
		}
		if old.indexOf == t.indexOf {
			t.index = old.index
		}
	})
	return t
}

// fingerprints covers what decides about a package's outline and about its index.
// What it imports counts by serial: if an edit is undone, the outline is a new one
// with types of its own.
func (b *batch) fingerprints(n *Node) (outline, index source.Fingerprint) {
	imports := source.NewHasher()
	imports.Text(n.goVersion)
	for _, path := range source.SortedKeys(n.imports) {
		imports.Text(path)
		if imported := b.graph.variants[n.imports[path]]; imported.source {
			imports.Number(b.task(imported).serial)
		}
	}
	base := imports.Sum()
	forOutline, forIndex := source.NewHasher(), source.NewHasher()
	forOutline.Fingerprint(base)
	forIndex.Fingerprint(base)
	for _, path := range n.Files {
		f := b.listed[path]
		forOutline.Text(path)
		forOutline.Fingerprint(b.files.Outline(f, func() source.Fingerprint { return b.parser.parse(path).outline }))
		forIndex.Files(f)
	}
	return forOutline.Sum(), forIndex.Sum()
}

// imported returns the types that an import gives.
func (b *batch) imported(ctx context.Context, id string) (*types.Package, error) {
	n := b.graph.variants[id]
	if n == nil {
		return b.importer.Import(id)
	}
	if !n.source {
		return b.importer.Import(n.Path)
	}
	t := b.outlined(ctx, n)
	return t.outline, t.err
}

// outlined returns the task of a package with its outline.
func (b *batch) outlined(ctx context.Context, n *Node) *task {
	t := b.task(n)
	t.outlining.Do(func() {
		if t.outline != nil {
			return
		}
		var c *checked
		if c, t.err = b.check(ctx, n, true); t.err == nil {
			t.outline, t.errors = c.pkg, b.faults(n, c)
		}
	})
	return t
}

// index returns a package's index. It is called once for a package.
func (b *batch) index(ctx context.Context, n *Node) (*xref.Index, error) {
	t := b.task(n)
	if t.index != nil {
		return t.index, nil
	}
	c, err := b.check(ctx, n, false)
	if err != nil {
		return nil, err
	}
	t.index = xref.NewIndex(c.pkg, c.fset, c.syntax, c.info, &b.keys, b.faults(n, c))
	return t.index, nil
}

// faults returns what is wrong with a package, at most [MaxErrors].
func (b *batch) faults(n *Node, c *checked) []string {
	return faults(b.root, n.missing, append(slices.Clone(n.Errors), c.errors...))
}

// each calls do for n numbers side by side, and returns the first error by number.
func each(n int, do func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = do(i) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
