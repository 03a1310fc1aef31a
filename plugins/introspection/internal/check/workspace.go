package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/tools/go/packages"

	"github.com/toolhost/toolhost/plugins/internal/gocode"
	"github.com/toolhost/toolhost/plugins/internal/source"
)

// Workspace is the directory that the tools answer questions about, and what is
// known of the packages in it. It is safe for concurrent use once it is open.
type Workspace struct {
	root     source.Root
	module   string // the directory below the root that a module has which is looked at; empty: the root
	platform Platform
	files    source.Cache
	graph    last[*Graph] // of the workspace
	std      last[*Graph] // of the standard library
	unlisted unlisted
	packages packageCache
	checker  checker

	// others are the same workspace on other platforms, or its other modules, the one that was used last at the end.
	mu     sync.Mutex
	others []*Workspace
}

// maxOthers is how many other platforms or modules stay loaded. Each takes as much memory as
// the workspace itself.
const maxOthers = 2

// On returns the workspace as it is built on a platform.
func (w *Workspace) On(p Platform) *Workspace {
	if p.key() == "" {
		return w
	}
	return w.other(p, w.module)
}

func (w *Workspace) other(p Platform, module string) *Workspace {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := slices.IndexFunc(w.others, func(o *Workspace) bool { return o.platform.key() == p.key() && o.module == module })
	if at < 0 {
		w.others = append(w.others, &Workspace{root: w.root, module: module, platform: p})
		w.others = w.others[max(0, len(w.others)-maxOthers):]
		return w.others[len(w.others)-1]
	}
	found := w.others[at]
	w.others = append(slices.Delete(w.others, at, at+1), found)
	return found
}

// base returns the directory that the go command runs in.
func (w *Workspace) base() source.Root {
	if w.module == "" {
		return w.root
	}
	return source.Root(w.module)
}

func (w *Workspace) command() goCommand { return goCommand{w.base(), w.platform, w.module != ""} }

var (
	errNotOpen = errors.New("the plugin has no workspace yet; the host names one when it configures the plugin")

	// errNoModule says that there is no go.mod in the workspace, above it or below it.
	errNoModule = errors.New("the workspace has no go.mod, in it, above it or below it, so only packages of the standard library " +
		"can be described")
)

// Open sets the workspace's directory.
func (w *Workspace) Open(dir string) (err error) {
	w.root, err = source.OpenRoot(dir)
	w.others = nil
	return err
}

// Snapshot returns the workspace as it is on disk now, or one of its modules: the one that has place, which is the
// name of a package, a file or a scope, or may be empty. A module that is below the root, and which no go.work file of it
// names, is looked at by itself, the only one also without a place if the root is in none.
//
// # Errors
//
// A plain error if the workspace is not open, cannot be read, or the go command
// fails on it; the context's error.
func (w *Workspace) Snapshot(ctx context.Context, place string) (*Snapshot, error) {
	s, err := w.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	dir := s.moduleOf(place)
	if dir == "" && !s.InModule() && len(s.others) == 1 {
		dir = s.Root.Join(s.others[0])
	}
	if dir == "" {
		return s, nil
	}
	return w.other(w.platform, dir).snapshot(ctx)
}

func (w *Workspace) snapshot(ctx context.Context) (*Snapshot, error) {
	if w.root == "" {
		return nil, errNotOpen
	}
	s := &Snapshot{
		Root: w.root, Graph: newGraph(source.Fingerprint{}, nil), workspace: w,
		moduleDir: gocode.ModuleDir(string(w.base())), listing: source.EmptyListing(),
	}
	listing, err := source.List(ctx, w.base())
	if err != nil {
		return nil, err
	}
	if s.moduleDir == "" {
		s.others = otherModules(s, listing)
		return s, nil
	}
	s.listing = listing
	s.modules = s.listing.Modules()
	key := s.importsFingerprint()
	s.Graph, err = w.graph.get(ctx, fmt.Sprintf("%x", key), func(ctx context.Context) (*Graph, error) {
		config := packages.Config{Mode: graphMode, Tests: true}
		found, err := w.command().loadConfig(ctx, config, source.Patterns(w.base(), s.moduleDir))
		if err != nil {
			return nil, err
		}
		return newGraph(key, found), nil
	})
	if err != nil {
		return nil, err
	}
	s.others = otherModules(s, listing)
	return s, nil
}

// OtherModule returns the root of the module that a directory of the workspace belongs
// to, relative to the workspace, if that is not one of the workspace's modules.
func (s *Snapshot) OtherModule(dir string) string {
	for ; dir != s.moduleDir && dir != string(s.Root) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		info, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if rel, ok := s.Root.Relative(dir); ok && !s.Graph.isModule(dir) {
			return rel
		}
		return ""
	}
	return ""
}
