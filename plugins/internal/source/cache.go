package source

import (
	"crypto/sha256"
	"go/parser"
	"go/token"
	"os"
	"sync"
)

// Cache remembers what was read from single files: enough to tell which packages
// are worth loading. The zero Cache is empty. It is safe for concurrent use.
type Cache struct {
	mu    sync.Mutex
	files map[string]entry
}

// entry is what is known of a file in one state.
type entry struct {
	file         File
	header       *Fingerprint
	outline      *Fingerprint
	parsed       bool
	synopsis     string // of the package's documentation
	declarations []Declaration
}

func (c *Cache) get(f File) entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.files[f.Path]; ok && known.file == f {
		return known
	}
	return entry{file: f}
}

// set changes what is known of f.
func (c *Cache) set(f File, change func(*entry)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil {
		c.files = map[string]entry{}
	}
	e := c.files[f.Path]
	if e.file != f {
		e = entry{file: f}
	}
	change(&e)
	c.files[f.Path] = e
}

// Header returns the fingerprint of a file up to its last import: all that
// decides about the import graph. Edits below that leave the graph valid.
func (c *Cache) Header(f File) Fingerprint {
	e := c.get(f)
	if e.header == nil {
		h := readHeader(f.Path)
		c.set(f, func(e *entry) { e.header = &h })
		return h
	}
	return *e.header
}

// Outline returns the fingerprint of what a file declares, which compute returns if it
// is not known.
func (c *Cache) Outline(f File, compute func() Fingerprint) Fingerprint {
	e := c.get(f)
	if e.outline == nil {
		outline := compute()
		if f.Path != "" {
			c.set(f, func(e *entry) { e.outline = &outline })
		}
		return outline
	}
	return *e.outline
}

func readHeader(path string) Fingerprint {
	content, err := os.ReadFile(path)
	if err != nil {
		return Fingerprint{}
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, path, content, parser.ImportsOnly|parser.SkipObjectResolution)
	if err != nil || parsed == nil {
		return sha256.Sum256(content)
	}
	end := parsed.Name.End()
	for _, d := range parsed.Decls {
		end = max(end, d.End())
	}
	return sha256.Sum256(content[:min(fset.Position(end).Offset, len(content))])
}

// Declarations returns what a file declares, as far as it can be parsed.
func (c *Cache) Declarations(f File) []Declaration { return c.read(f).declarations }

// Synopsis returns the first sentence of the package's documentation, if the file has it.
func (c *Cache) Synopsis(f File) string { return c.read(f).synopsis }

func (c *Cache) read(f File) entry {
	e := c.get(f)
	if !e.parsed {
		e.synopsis, e.declarations = readDeclarations(f.Path)
		c.set(f, func(known *entry) {
			known.synopsis, known.declarations, known.parsed = e.synopsis, e.declarations, true
		})
	}
	return e
}
