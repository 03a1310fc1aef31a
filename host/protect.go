package host

import (
	"cmp"
	"os"
	"slices"

	"github.com/toolhost/toolhost/internal/protect"
)

// WithProtected names files and directories that tools must not change, in addition to
// those that the host knows itself: its own program, the directories that plugins were
// loaded from, the cache, the caches of plugins, the state, the locks, and the directory for
// sockets. An embedding program adds what else decides how it runs, such as its configuration and its log of
// calls. They need not exist. Each plugin gets
// the list when it is configured; the plugins that ship with toolhost refuse to write there.
// Default: none.
func WithProtected(paths ...string) Option {
	return func(o *options) { o.protected = append(o.protected, paths...) }
}

// WithMayWrite refuses directories that the sandbox of a plugin would let it write: the start of the plugin
// fails with the error, at first, after an upgrade and when its needs are accepted. Directories that the
// plugin's own settings name are among them. Default: none is refused.
func WithMayWrite(refuse func(dir string) error) Option {
	return func(o *options) { o.mayWrite = refuse }
}

// Protected returns the paths that tools must not change, absolute and sorted, with links
// resolved; it includes the links on the way.
func (h *Host) Protected() []string {
	paths := slices.Concat(h.opts.protected, h.roster.Paths())
	for _, f := range h.operator.allLocks() {
		paths = append(paths, f.File)
	}
	for _, path := range []string{h.opts.cacheDir, *cmp.Or(h.opts.plugins, new(string)), h.opts.state} {
		if path != "" {
			paths = append(paths, path)
		}
	}
	if self, err := os.Executable(); err == nil {
		paths = append(paths, self)
	}
	out, _ := protect.Expand(paths...) // what leads nowhere stands for itself
	return out
}
