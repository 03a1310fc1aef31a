package check

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/gocode"
)

// Replaced is a declaration of the package that one of a form stands in for.
type Replaced struct {
	Name string
	At   string // FILE:LINE:COLUMN
}

// Replace renames what the package's own files declare under some names, methods as
// Type.Method, to the blank name: the rest of a file stays as it is, and its imports are
// still used. It returns what was replaced, and the changed files by path.
//
// # Errors
//
// A file that the go command generated, as for cgo, cannot be changed.
func (c *Checker) Replace(names map[string]bool) (replaced []Replaced, files map[string]string, err error) {
	files = map[string]string{}
	for _, f := range c.Files {
		for name, id := range gocode.Declared(f) {
			if !names[name] {
				continue
			}
			at := c.fset.Position(id.Pos())
			raw := c.fset.PositionFor(id.Pos(), false)
			replaced = append(replaced, Replaced{name, at.String()})
			if filepath.Dir(raw.Filename) != c.target.Dir {
				return nil, nil, fmt.Errorf("the package declares %s at %s, in a file that uses cgo: a form cannot replace it; "+
					"choose another name", name, at)
			}
			text, known := files[raw.Filename]
			if !known {
				content, err := os.ReadFile(raw.Filename)
				if err != nil {
					return nil, nil, err
				}
				text = string(content)
			}
			end := raw.Offset + len(id.Name)
			if end > len(text) || text[raw.Offset:end] != id.Name {
				return nil, nil, fmt.Errorf("%s has changed while the form was compiled; evaluate it again", at)
			}
			files[raw.Filename] = text[:raw.Offset] + "_" + strings.Repeat(" ", len(id.Name)-1) + text[end:]
			id.Name = "_"
		}
	}
	return replaced, files, nil
}

// Position returns where the package's own files declare a name; empty if they do not.
func (c *Checker) Position(name string) string {
	for _, f := range c.Files {
		if id := gocode.Declared(f)[name]; id != nil {
			return c.fset.Position(id.Pos()).String()
		}
	}
	return ""
}
