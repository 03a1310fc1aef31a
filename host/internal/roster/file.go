package roster

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/internal/kept"
	"github.com/toolhost/toolhost/host/internal/manifest"
	"github.com/toolhost/toolhost/internal/known"
)

// sourceFile is a plugin's file as it was found. That of a source which is none is zero.
type sourceFile struct {
	path   string                          // in the plugin directory; empty: it is not a file
	file   string                          // that runs: the path, or what it links to
	kept   *known.Binary                   // that runs in place of the file; nil: the file runs
	found  atomic.Pointer[manifest.Stamp]  // of the file
	sum    atomic.Pointer[manifest.Digest] // of the file when it had that stamp; nil: not known
	saving atomic.Bool                     // a copy of the file is made, or was
	saved  atomic.Pointer[string]          // digest of the copy; nil: there is none
}

// dir returns the directory of the plugin's file.
func (f *sourceFile) dir() string { return filepath.Dir(f.path) }

func (f *sourceFile) stamp() manifest.Stamp { return *f.found.Load() }

func (f *sourceFile) setStamp(found manifest.Stamp) { f.found.Store(&found) }

// setSum remembers the first digest of the file that is told, if the file is still the one that was found.
func (f *sourceFile) setSum(sum manifest.Digest) {
	if f.kept == nil && manifest.StampOf(f.file) == f.stamp() {
		f.sum.CompareAndSwap(nil, &sum)
	}
}

// digest returns the digest of the file; empty: it is not known.
func (f *sourceFile) digest() string {
	if sum := f.sum.Load(); sum != nil {
		return sum.String()
	}
	return ""
}

// serves returns the digest of the binary that serves; empty: it is not known.
func (f *sourceFile) serves() string {
	switch saved := f.saved.Load(); {
	case f.kept != nil:
		return f.kept.SHA256
	case saved != nil:
		return *saved
	}
	return f.digest()
}

// isRolledBack reports whether the operator went back to the source's binary.
func (f *sourceFile) isRolledBack() bool { return f.kept != nil && f.stamp() != manifest.Stamp{} }

// keptCopy returns the copy that runs in place of the source's file: that of a kept binary, or
// of the file as it was, if it has changed since; empty: the file runs.
func (f *sourceFile) keptCopy(store *kept.Store) (path, sha256 string) {
	if f.kept != nil {
		return store.Path(f.kept.SHA256), f.kept.SHA256
	}
	sum := f.saved.Load()
	if sum == nil || manifest.StampOf(f.file) == f.stamp() {
		return "", ""
	}
	return store.Path(*sum), *sum
}

// describeKept names the kept binary of a source.
func (f *sourceFile) describeKept() string {
	return fmt.Sprintf("version %s (sha256 %.12s…), which served from %s on",
		f.kept.Version, f.kept.SHA256, f.kept.Served.Format(time.RFC3339))
}
