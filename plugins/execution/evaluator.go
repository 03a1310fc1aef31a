package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/pluginsdk"
)

// evaluator is the plugin: the workspace, what bounds programs, and who called. It
// is safe for concurrent use once it is configured.
type evaluator struct {
	root       string // absolute, without symbolic links
	limits     limits
	sessions   sessions
	graphs     graphs
	std        stdlib
	places     places
	slots      chan struct{}
	namespaces []confine.Namespaces // see [process]
	dirs       struct {
		mu    sync.Mutex
		known []string
	}
}

func newEvaluator() *evaluator {
	return &evaluator{limits: defaultLimits(), slots: make(chan struct{}, max(2, runtime.NumCPU()))}
}

// configure sets the root and the limits. Links are resolved because the go
// command reports real paths.
func (e *evaluator) configure(c pluginsdk.Config) error {
	l, err := parseLimits(c.JSON)
	if err != nil {
		return err
	}
	root, err := filepath.Abs(c.Root)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return fmt.Errorf("the workspace cannot be read: %w", err)
	}
	info, err := os.Stat(root)
	if err != nil {
		return fmt.Errorf("the workspace cannot be read: %w", err)
	}
	if !info.IsDir() {
		return errors.New("the workspace is not a directory; the host's --root names one")
	}
	e.root, e.limits = root, l
	sweep(os.TempDir())
	return nil
}

// slot waits until another form may be compiled and run: both take whole
// processors.
func (e *evaluator) slot(ctx context.Context) (release func(), err error) {
	select {
	case e.slots <- struct{}{}:
		return func() { <-e.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// scrub drops directories of the machine from a text.
func (e *evaluator) scrub(ctx context.Context, t toolchain) func(string) string {
	e.dirs.mu.Lock()
	defer e.dirs.mu.Unlock()
	if e.dirs.known == nil {
		if out, _, err := t.run(ctx, "env", "GOROOT", "GOMODCACHE", "GOCACHE"); err == nil {
			e.dirs.known = strings.Fields(out)
		}
	}
	return scrubber(append([]string{t.private, e.root}, e.dirs.known...)...)
}

// places remember where packages were found that a call named.
type places struct {
	mu    sync.Mutex
	known map[string]string
}

func (p *places) get(hint string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[hint]
}

func (p *places) put(hint, dir string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= maxGraphs {
		p.known = map[string]string{}
	}
	p.known[hint] = dir
}
