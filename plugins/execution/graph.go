package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// listed is what the go command says of a package.
type listed struct {
	ImportPath      string
	Name            string
	Dir             string
	Standard        bool
	DepOnly         bool
	Export          string
	GoFiles         []string
	CompiledGoFiles []string
	ImportMap       map[string]string
	Module          *struct {
		Main      bool
		GoVersion string
		Replace   *struct{ Version string }
	}
	Error *struct{ Pos, Err string }
}

const listFields = "ImportPath,Name,Dir,Standard,DepOnly,Export,GoFiles,CompiledGoFiles,ImportMap,Module,Error"

// local says that the package can change without its version doing so.
func (l *listed) local() bool {
	return !l.Standard && (l.Module == nil || l.Module.Main || l.Module.Replace != nil && l.Module.Replace.Version == "")
}

// graph is a set of packages with all that they import, each with its export data.
type graph struct {
	packages map[string]*listed // by import path
	order    []*listed
	stamp    string
}

// graphs are those that were asked for, as long as nothing that they are made of
// changes. It is safe for concurrent use.
type graphs struct {
	mu    sync.Mutex
	known map[string]*graph
}

const maxGraphs = 32

// load lists packages and compiles what they import, where the build cache does not
// have it yet.
func (g *graphs) load(ctx context.Context, t toolchain, patterns []string) (*graph, error) {
	key := t.dir + "\x00" + strings.Join(patterns, "\x00")
	g.mu.Lock()
	known := g.known[key]
	g.mu.Unlock()
	if known != nil && known.stamp == known.stampNow(t.dir) {
		return known, nil
	}
	loaded, err := list(ctx, t, append([]string{"-e", "-compiled", "-export", "-deps"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	loaded.stamp = loaded.stampNow(t.dir)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known == nil || len(g.known) >= maxGraphs {
		g.known = map[string]*graph{}
	}
	g.known[key] = loaded
	return loaded, nil
}

func list(ctx context.Context, t toolchain, args ...string) (*graph, error) {
	out, _, err := t.run(ctx, append([]string{"list", "-buildvcs=false", "-json=" + listFields}, args...)...)
	var failed *toolError
	if err != nil && (!errors.As(err, &failed) || !strings.HasPrefix(out, "{")) {
		return nil, err
	}
	loaded := &graph{packages: map[string]*listed{}}
	for dec := json.NewDecoder(strings.NewReader(out)); ; {
		l := &listed{}
		if err := dec.Decode(l); errors.Is(err, io.EOF) {
			return loaded, nil
		} else if err != nil {
			return nil, fmt.Errorf("the go command's list of packages cannot be read: %w", err)
		}
		loaded.packages[l.ImportPath] = l
		loaded.order = append(loaded.order, l)
	}
}

// stampNow stands for all files that the graph is made of and that change in place.
func (g *graph) stampNow(root string) string {
	sum := sha256.New()
	var dirs []string
	for _, l := range g.order {
		if l.local() && l.Dir != "" {
			dirs = append(dirs, l.Dir)
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

// importError is why a package cannot be imported; nil: it can.
func (g *graph) importError(path string) error {
	l := g.packages[path]
	switch {
	case l == nil:
		return fmt.Errorf("there is no package %s", path)
	case l.Error != nil && l.Name == "":
		return errors.New(strings.TrimSpace(l.Error.Err))
	case l.Name == "main":
		return fmt.Errorf("%s is a program, not an importable package", path)
	}
	return nil
}
