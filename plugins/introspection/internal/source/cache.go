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
	parsed       bool
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

func (c *Cache) put(e entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil {
		c.files = map[string]entry{}
	}
	c.files[e.file.Path] = e
}

// Header returns the fingerprint of a file up to its last import: all that
// decides about the import graph. Edits below that leave the graph valid.
func (c *Cache) Header(f File) Fingerprint {
	e := c.get(f)
	if e.header == nil {
		h := readHeader(f.Path)
		e.header = &h
		c.put(e)
	}
	return *e.header
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
func (c *Cache) Declarations(f File) []Declaration {
	e := c.get(f)
	if !e.parsed {
		e.declarations, e.parsed = readDeclarations(f.Path), true
		c.put(e)
	}
	return e.declarations
}
