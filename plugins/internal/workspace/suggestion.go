package workspace

import (
	"errors"
	"io"
	"strings"

	"github.com/toolhost/toolhost/internal/suggest"
)

// Bounds of the work that goes into a suggestion.
const (
	namesCompared = 1000
	namesOffered  = 3
)

// nearest says which names in a directory are most like one that is not there;
// empty: the directory cannot be read.
func (w *Workspace) nearest(dir, name string) string {
	where := "the workspace root"
	if dir != "." {
		where = show(dir)
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
		names[i] = show(n)
	}
	return "nearest names in " + where + ": " + strings.Join(names, ", ")
}

// names are what is in a directory, in no order, and not all where there are
// very many.
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
