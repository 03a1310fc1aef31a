package manifest

import (
	"os"
	"path/filepath"
	"slices"
	"time"
)

// namedFile is a file that a plugin names as a part of its identity. It is told apart by what
// the system says of it, and never opened, as the plugin may name any file.
type namedFile struct {
	Path string   `json:"path"`
	File identity `json:"file"` // zero: there is none
}

// unsettled is the identity of a file that may change once more without a trace.
var unsettled = identity{Size: -1}

// namedFiles returns the files that a description names, as they are now.
func namedFiles(s Subject, names []string) []namedFile {
	var out []namedFile
	now := time.Now()
	for _, path := range names {
		f := namedFile{Path: path, File: s.identityOf(path)}
		if f.File != (identity{}) && !f.File.settledAt(now) {
			f.File = unsettled
		}
		out = append(out, f)
	}
	return out
}

// unchanged reports whether files are as they were when they were remembered.
func (s Subject) unchanged(files []namedFile) bool {
	return !slices.ContainsFunc(files, func(f namedFile) bool { return s.identityOf(f.Path) != f.File })
}

// identityOf returns the identity of a file that the subject names; zero: there is none.
func (s Subject) identityOf(path string) identity {
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(s.Path), path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return identity{}
	}
	id, ok := identityOf(info)
	if !ok { // the system has no more than size and time
		id = identity{Size: info.Size(), MTime: info.ModTime().UnixNano()}
	}
	return id
}
