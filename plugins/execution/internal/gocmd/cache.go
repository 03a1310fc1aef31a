package gocmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/plugins/internal/gocode"
)

// Cache keeps graphs and the list of the standard library. A graph is used until
// a file that it was made of changes. It is safe for concurrent use, and its zero
// value is ready.
type Cache struct {
	mu     sync.Mutex
	graphs map[string]*Graph

	stdMu sync.Mutex
	std   map[string][]*Package
}

// maxGraphs bounds how many graphs are kept.
const maxGraphs = 32

// common are packages that forms often use. Every graph has them, so that a form
// that uses one more needs no second call of go list.
var common = []string{
	"bytes", "context", "encoding/json", "errors", "fmt", "io", "maps", "math", "os", "path/filepath", "reflect",
	"regexp", "runtime/debug", "slices", "sort", "strconv", "strings", "sync", "time",
}

// Load returns the graph of a package, if pattern names one, of what else is to
// be importable, and of some of the standard library. It compiles the imported
// packages that the build cache does not have.
func (c *Cache) Load(ctx context.Context, cmd Command, pattern string, imports map[string]bool) (*Graph, error) {
	args := slices.Clone(common)
	for path := range imports {
		if !slices.Contains(common, path) {
			args = append(args, path)
		}
	}
	slices.Sort(args)
	if pattern != "" {
		args = append(args, pattern)
	}
	key := cmd.Dir + "\x00" + strings.Join(args, "\x00")
	c.mu.Lock()
	known := c.graphs[key]
	c.mu.Unlock()
	if known != nil && known.stamp == known.newStamp(cmd.Dir) {
		return known, nil
	}
	g, err := List(ctx, cmd, append([]string{"-e", "-compiled", "-export", "-deps", "--"}, args...)...)
	if err != nil {
		return nil, err
	}
	g.stamp = g.newStamp(cmd.Dir)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.graphs == nil || len(c.graphs) >= maxGraphs {
		c.graphs = map[string]*Graph{}
	}
	c.graphs[key] = g
	return g, nil
}

// Std returns the importable packages of the standard library, by name.
func (c *Cache) Std(ctx context.Context, cmd Command) (map[string][]*Package, error) {
	c.stdMu.Lock()
	defer c.stdMu.Unlock()
	if c.std != nil {
		return c.std, nil
	}
	g, err := List(ctx, cmd, "std")
	if err != nil {
		return nil, err
	}
	c.std = map[string][]*Package{}
	for _, p := range g.Order {
		if !gocode.IsInternal(p.ImportPath) {
			c.std[p.Name] = append(c.std[p.Name], p)
		}
	}
	return c.std, nil
}

// newStamp returns a hash over the state of all files that the graph is made of
// and that can change in place.
func (g *Graph) newStamp(root string) string {
	sum := sha256.New()
	var dirs []string
	for _, p := range g.Order {
		if p.isLocal() && p.Dir != "" {
			dirs = append(dirs, p.Dir)
		}
	}
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		stampDir(sum, dir)
	}
	for dir := root; ; dir = filepath.Dir(dir) {
		for _, name := range []string{"go.mod", "go.sum", "go.work", "vendor/modules.txt"} {
			stampFile(sum, filepath.Join(dir, name))
		}
		if dir == filepath.Dir(dir) {
			return hex.EncodeToString(sum.Sum(nil))
		}
	}
}

func stampDir(w io.Writer, dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !e.IsDir() {
			stampFile(w, filepath.Join(dir, e.Name()))
		}
	}
}

func stampFile(w io.Writer, path string) {
	if info, err := os.Stat(path); err == nil {
		_, _ = fmt.Fprintln(w, path, info.Size(), info.ModTime().UnixNano())
	}
}
