package host

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Load finds the plugin binaries of directories, starts them side by side, and
// registers their tools. It returns how many tools the registry holds. Loading a
// directory again adds what is new and changes nothing else.
//
// Names are given out in the order of the directories and, in each, of the
// files: which plugin is the first does not depend on which starts faster.
//
// # Errors
//
// One for each directory, plugin and tool that could not be used, joined, each
// an [*tool.Error] with the plugin's name. What could be used is.
func (h *Host) Load(ctx context.Context, dirs ...string) (int, error) {
	var faults []error
	var started []source
	for _, dir := range dirs {
		found, skipped, err := plugin.Discover(dir)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		h.noteSkipped(skipped)
		for _, c := range found {
			s, err := h.adopt(c)
			if err != nil {
				faults = append(faults, err)
			} else if s.plugin != nil {
				started = append(started, s)
			}
		}
	}
	for i, l := range listAll(ctx, started) {
		s := started[i]
		if l.err == nil {
			l.err = h.take(s.owner, s.provider, l.defs)
		}
		if l.err != nil {
			faults = append(faults, l.err)
		}
		h.watch(s.owner, s.provider)
	}
	return h.Len(), errors.Join(faults...)
}

// adopt makes a source of a candidate; a zero one where it is there already.
func (h *Host) adopt(c plugin.Candidate) (source, error) {
	if h.hasPath(c.Path) {
		return source{}, nil
	}
	sockets, err := h.sockets(c.Name)
	if err != nil {
		return source{}, err
	}
	p := plugin.New(c, plugin.Config{
		Root: h.opts.root, TempDir: sockets, Env: h.opts.pluginEnv, StartTimeout: h.opts.startTimeout,
		HostVersion: Version, Logger: h.opts.logger,
	})
	s := source{owner: c.Name, provider: p, plugin: p, path: c.Path}
	return s, h.addSource(s)
}

type listing struct {
	defs []tool.Definition
	err  error
}

// listAll starts plugins side by side, a few at a time as starting costs CPU
// more than waiting, and asks each for its tools.
func listAll(ctx context.Context, sources []source) []listing {
	out := make([]listing, len(sources))
	slots := make(chan struct{}, max(4, 2*runtime.NumCPU()))
	var all sync.WaitGroup
	for i, s := range sources {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			out[i].defs, out[i].err = s.provider.List(ctx)
		})
	}
	all.Wait()
	return out
}

func (h *Host) hasPath(path string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.sources, func(s source) bool { return s.path == path })
}

func (h *Host) noteSkipped(skipped []plugin.Skipped) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range skipped {
		if !slices.Contains(h.skipped, s) {
			h.skipped = append(h.skipped, s)
		}
	}
}

// sockets is a private directory for plugins' sockets. Its path is short: a
// socket's address holds about 100 bytes.
func (h *Host) sockets(owner string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed.Load() { // nobody would remove it
		return "", closedError(owner)
	}
	if h.socketDir != "" {
		return h.socketDir, nil
	}
	base := os.TempDir()
	if len(base) > 40 && runtime.GOOS != "windows" {
		base = "/tmp"
	}
	dir, err := os.MkdirTemp(base, "toolhost-")
	if err != nil {
		return "", tool.Errorf(tool.CodeUnavailable, "plugin %s is not loaded: no directory for its socket: %w", owner, err)
	}
	h.socketDir = dir
	return dir, nil
}

// Plugins tells what each plugin is doing, sorted by name.
func (h *Host) Plugins() []plugin.Status {
	h.mu.Lock()
	sources := slices.Clone(h.sources)
	h.mu.Unlock()
	var out []plugin.Status
	for _, s := range sources {
		if s.plugin != nil {
			out = append(out, s.plugin.Status())
		}
	}
	slices.SortFunc(out, func(a, b plugin.Status) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return out
}

// Skipped are the entries of the loaded directories that are no plugins, and
// why.
func (h *Host) Skipped() []plugin.Skipped {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.skipped)
}
