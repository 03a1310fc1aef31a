package check

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/tools/go/packages"

	"github.com/toolhost/toolhost/plugins/internal/gocode"
	"github.com/toolhost/toolhost/plugins/introspection/internal/source"
)

// Workspace is the directory that the tools answer questions about, and what is
// known of the packages in it. It is safe for concurrent use once it is open.
type Workspace struct {
	root     source.Root
	files    source.Cache
	graph    last[*Graph] // of the workspace
	std      last[*Graph] // of the standard library
	unlisted unlisted
	packages packageCache
	checker  checker
}

var (
	errNotOpen = errors.New("the plugin has no workspace yet; the host names one when it configures the plugin")

	// ErrNoModule says that there is no go.mod in the workspace or above it.
	ErrNoModule = errors.New("the workspace has no go.mod, in it or above it, so only packages of the standard library " +
		"can be described; run `go mod init` there, or make the root of a Go module the workspace")
)

// Open sets the workspace's directory.
func (w *Workspace) Open(dir string) (err error) {
	w.root, err = source.OpenRoot(dir)
	return err
}

// Snapshot returns the workspace as it is on disk now.
//
// # Errors
//
// A plain error if the workspace is not open, cannot be read, or the go command
// fails on it; the context's error.
func (w *Workspace) Snapshot(ctx context.Context) (*Snapshot, error) {
	if w.root == "" {
		return nil, errNotOpen
	}
	s := &Snapshot{
		Root: w.root, Graph: newGraph(source.Fingerprint{}, nil), workspace: w,
		moduleDir: gocode.ModuleDir(string(w.root)), listing: source.EmptyListing(),
	}
	if s.moduleDir == "" {
		return s, nil
	}
	var err error
	if s.listing, err = source.List(ctx, w.root); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("the workspace cannot be read: %s", w.root.Scrub(err.Error()))
	}
	s.modules = s.listing.Modules()
	key := s.importsFingerprint()
	s.Graph, err = w.graph.get(ctx, fmt.Sprintf("%x", key), func(ctx context.Context) (*Graph, error) {
		config := packages.Config{Mode: graphMode, Tests: true}
		found, err := goCommand{w.root}.loadConfig(ctx, config, patterns(w.root, s.moduleDir))
		if err != nil {
			return nil, err
		}
		return newGraph(key, found), nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}
