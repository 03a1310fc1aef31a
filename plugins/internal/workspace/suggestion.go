package workspace

import (
	"errors"
	"io"
	"strings"

	"github.com/toolhost/toolhost/internal/suggest"
)

// Bounds of a suggestion.
const (
	namesCompared = 1000
	namesOffered  = 3
)

// suggest says which names in a directory are most similar to one that does not exist;
// empty if the directory cannot be read.
func (w *Workspace) suggest(dir, name string) string {
	where := "the workspace root"
	if dir != "." {
		where = Show(dir)
	}
	names, err := w.names(dir)
	switch {
	case err != nil:
		return ""
	case len(names) == 0:
		return where + " is empty"
	}
	names = suggest.Nearest(name, names, namesOffered)
	if len(names) == 0 {
		return "nothing in " + where + " has a name like it"
	}
	for i, n := range names {
		names[i] = Show(n)
	}
	return "nearest names in " + where + ": " + strings.Join(names, ", ")
}

// names returns names in a directory, in no order, and at most namesCompared.
func (w *Workspace) names(dir string) ([]string, error) {
	root, err := w.openDir(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	names, err := f.Readdirnames(namesCompared)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}
