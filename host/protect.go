package host

import (
	"os"
	"slices"

	"github.com/toolhost/toolhost/internal/protect"
)

// WithProtected names files and directories that tools must not change, beside those
// that the host knows itself: its own program, the directories that plugins were
// loaded from, the cache, the locks, the record of names and the directory for sockets. A program names
// what else it is ruled by, such as its configuration and its log of calls. They need
// not exist. The list is handed to each plugin when it is configured; what ships with
// toolhost refuses to write there, other plugins are only told. Default: none.
func WithProtected(paths ...string) Option {
	return func(o *options) { o.protected = append(o.protected, paths...) }
}

// Protected are the paths that plugins are told not to let tools change, absolute and
// sorted, with links resolved; links on the way are among them.
func (h *Host) Protected() []string {
	paths := slices.Concat(h.opts.protected, h.operator.lockFiles(), h.roster.Paths())
	for _, path := range []string{h.opts.cacheDir, h.opts.names} {
		if path != "" {
			paths = append(paths, path)
		}
	}
	if self, err := os.Executable(); err == nil {
		paths = append(paths, self)
	}
	var out []string
	for _, path := range paths {
		at, err := protect.Expand(path)
		if err != nil { // links in a circle lead nowhere; the first of them can be exchanged
			at = []string{path}
		}
		out = append(out, at...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
