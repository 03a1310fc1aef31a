// Package protect keeps tools from changing the files that control the host that runs
// them. The host names the paths ([Expand]); plugins that write for a tool ask [Covers].
package protect

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Expand returns the protected paths, absolute and sorted, that stand for these files
// and directories, whether they exist or not: the place that each leads to, and every
// symbolic link on the way there, as exchanging a link exchanges what is found.
//
// # Errors
//
// Those of [Resolve]: such a path stands for itself, as the first of its links can be replaced.
func Expand(paths ...string) (out []string, err error) {
	known := directories{}
	for _, path := range paths {
		at, links, bad := known.resolve(path)
		if bad != nil {
			at, err = path, errors.Join(err, bad)
		}
		out = append(append(out, at), links...)
	}
	slices.Sort(out)
	return slices.Compact(out), err
}

// Covers reports whether a write to a path would change what is protected: the path
// is a protected one, lies in one, is next to one under its name and a dot (as the
// rotated files of a log are), or is that of a directory on the way to one. Links in
// the path are followed, but for the last element, which a write may replace: both it
// and what it leads to count. Names that differ in case count as the same, as they
// are on some systems, and so do the names of one file: what a hard link or a mount
// shows is compared by its identity.
//
// # Errors
//
// Those of [Resolve].
func Covers(protected []string, path string) (bool, error) {
	if len(protected) == 0 {
		return false, nil
	}
	parent, _, err := Resolve(filepath.Dir(path))
	if err != nil {
		return false, err
	}
	target, _, err := Resolve(path)
	if err != nil {
		return false, err
	}
	is := newIdentities(protected)
	for _, at := range []string{filepath.Join(parent, filepath.Base(path)), target} {
		if slices.ContainsFunc(protected, func(p string) bool { return touches(p, at) }) || is.above(at) {
			return true, nil
		}
	}
	return false, nil
}

// Inside reports whether a path, the file that it leads to, or a link on the way lies in a
// workspace, where plugins may write. What cannot be resolved does.
func Inside(root, path string) bool {
	root, _, err := Resolve(root)
	if err != nil {
		return true
	}
	all, err := Expand(path)
	return err != nil || slices.ContainsFunc(all, func(at string) bool { return within(root, at) })
}

// Refusal is the error for a path that is covered.
func Refusal(path string) error {
	return tool.Errorf(tool.CodePermissionDenied,
		"%s is protected: it belongs to what rules the host that runs this tool", sanitize.Line(path, 256)).
		At(callstage.Execute).Try("no permission allows this; ask the operator to make the change")
}

// touches compares two paths by their names.
func touches(protected, at string) bool {
	p, a := strings.ToLower(protected), strings.ToLower(at)
	return within(p, a) || within(a, p) || strings.HasPrefix(a, p+".")
}

// Within reports whether a path is that of a directory or of something in it. Both
// are as [Resolve] gives them.
func Within(dir, path string) bool { return within(dir, path) }

func within(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// identities are the protected files and directories that exist.
type identities []fs.FileInfo

func newIdentities(paths []string) identities {
	var out identities
	for _, path := range paths {
		if info, err := os.Lstat(path); err == nil {
			out = append(out, info)
		}
	}
	return out
}

// above reports whether a path, or a directory above it, is one of them by another
// name.
func (is identities) above(path string) bool {
	for {
		if info, err := os.Lstat(path); err == nil && slices.ContainsFunc(is, func(p fs.FileInfo) bool { return os.SameFile(p, info) }) {
			return true
		}
		up := filepath.Dir(path)
		if up == path {
			return false
		}
		path = up
	}
}
