package check

import (
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/plugins/execution/internal/form"
	"github.com/toolhost/toolhost/plugins/execution/internal/gocmd"
)

// Resolver finds the packages that undeclared names in a form mean: what the
// form imports, what the session imported before, what the package's own files
// import, and the standard library, in this order.
type Resolver struct {
	Form     map[string]string   // name to path
	Session  map[string]string   // name to path
	Files    map[string][]string // name to paths
	Given    map[string]string   // name to path, of last resort
	Own      string              // the name of the package itself
	Declared map[string]bool     // names that do not mean packages
	Std      func() (map[string][]*gocmd.Package, error)
	Problems form.Problems // names that are ambiguous
}

// Imports returns the packages that a piece of code uses, name to path.
func (r *Resolver) Imports(uses form.Uses) (map[string]string, error) {
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		if r.Declared[name] || types.Universe.Lookup(name) != nil {
			continue
		}
		path, err := r.path(name, uses[name])
		if err != nil {
			return nil, err
		}
		if path != "" {
			out[name] = path
		}
	}
	return out, nil
}

// IsOwn reports whether a name means the package itself, though no package can import
// itself: what is selected is then declared there, or the name can mean nothing else.
func (r *Resolver) IsOwn(name string, selected map[string]bool) (bool, error) {
	if name != r.Own || r.Declared[name] || r.Form[name] != "" || r.Session[name] != "" || len(r.Files[name]) > 0 {
		return false, nil
	}
	all := true
	for s := range selected {
		all = all && r.Declared[s]
	}
	if all {
		return true, nil
	}
	std, err := r.Std()
	return len(std[name]) == 0, err
}

// path returns the package that a name means; empty if none is known.
func (r *Resolver) path(name string, selected map[string]bool) (string, error) {
	for _, known := range []map[string]string{r.Form, r.Session} {
		if path := known[name]; path != "" {
			return path, nil
		}
	}
	if paths := r.Files[name]; len(paths) == 1 {
		return paths[0], nil
	}
	if path := r.Given[name]; path != "" {
		return path, nil
	}
	std, err := r.Std()
	if err != nil {
		return "", err
	}
	found := std[name]
	if len(found) > 1 {
		found = slices.DeleteFunc(slices.Clone(found), func(p *gocmd.Package) bool { return !p.Declares(selected) })
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0].ImportPath, nil
	}
	var paths []string
	for _, p := range found {
		paths = append(paths, strconv.Quote(p.ImportPath))
	}
	r.Problems.Add(form.Problem{
		Message: name + " is ambiguous: it can be " + strings.Join(paths, " or ") + "; import one of them in the form",
	})
	return "", nil
}
