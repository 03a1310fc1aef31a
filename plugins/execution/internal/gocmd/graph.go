package gocmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Graph is a set of packages with all that they import.
type Graph struct {
	Packages map[string]*Package // by import path
	Order    []*Package          // as the go command lists them

	stamp string // of the files that it was made of
}

// List lists the packages that the arguments of go list name.
func List(ctx context.Context, c Command, args ...string) (*Graph, error) {
	out, _, err := c.Run(ctx, append([]string{"list", "-buildvcs=false", "-json=" + packageFields}, args...)...)
	var failed *Error
	if err != nil && (!errors.As(err, &failed) || !strings.HasPrefix(out, "{")) {
		return nil, err
	}
	g := &Graph{Packages: map[string]*Package{}}
	for dec := json.NewDecoder(strings.NewReader(out)); ; {
		p := &Package{}
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			return g, nil
		} else if err != nil {
			return nil, fmt.Errorf("the go command's list of packages cannot be read: %w", err)
		}
		g.Packages[p.ImportPath] = p
		g.Order = append(g.Order, p)
	}
}

// ImportError returns why a package cannot be imported; nil if it can.
func (g *Graph) ImportError(path string) error {
	p := g.Packages[path]
	switch {
	case p == nil:
		return fmt.Errorf("there is no package %s", path)
	case p.Error != nil && p.Name == "":
		return errors.New(strings.TrimSpace(p.Error.Err))
	case p.Name == "main":
		return fmt.Errorf("%s is a program, not an importable package", path)
	}
	return nil
}

// Cycle returns how a package imports another one, from the first to the last; nil if it
// does not.
func (g *Graph) Cycle(from, to string) []string {
	seen := map[string]bool{}
	var walk func(path string) []string
	walk = func(path string) []string {
		p := g.Packages[path]
		if p == nil || p.Standard || seen[path] {
			return nil
		}
		seen[path] = true
		for _, imported := range p.Imports {
			if mapped := p.ImportMap[imported]; mapped != "" {
				imported = mapped
			}
			if imported == to {
				return []string{path, to}
			}
			if rest := walk(imported); rest != nil {
				return append([]string{path}, rest...)
			}
		}
		return nil
	}
	return walk(from)
}

// Name returns the name of a package that is imported without one.
func (g *Graph) Name(path string) string {
	if p := g.Packages[path]; p != nil && p.Name != "" {
		return p.Name
	}
	return filepath.Base(path)
}

// FileImports returns the paths that files import, by the names used there.
func (g *Graph) FileImports(files []*ast.File) map[string][]string {
	out := map[string][]string{}
	for _, f := range files {
		for _, spec := range f.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil || path == "C" {
				continue
			}
			name := g.Name(path)
			if spec.Name != nil {
				name = spec.Name.Name
			}
			if name != "." && name != "_" && !slices.Contains(out[name], path) {
				out[name] = append(out[name], path)
			}
		}
	}
	return out
}
