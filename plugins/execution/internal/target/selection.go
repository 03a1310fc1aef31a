package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/plugins/execution/internal/gocmd"
	"github.com/toolhost/toolhost/plugins/internal/gocode"
	"github.com/toolhost/toolhost/plugins/internal/source"
)

// Selection is a set of packages of the workspace.
type Selection struct {
	Go       gocmd.Command
	Patterns []string // for the go command
	// LeftOut are the directories of modules in the workspace that the patterns do not
	// reach, from the root.
	LeftOut []string
}

// Select returns the packages that a hint names: what [Finder.Find] takes, a Go file, or a
// pattern such as ./host/... The default is all packages of the workspace. The go command
// puts its temporary files in temp.
//
// # Errors
//
// [tool.CodePermissionDenied] for a hint that leads out of the workspace.
func (f *Finder) Select(ctx context.Context, hint, temp string) (*Selection, error) {
	if f.Root == "" {
		return nil, errNoWorkspace
	}
	if err := gocode.CheckPackage(hint); err != nil {
		return nil, err
	}
	s := &Selection{Go: gocmd.Command{Dir: string(f.Root), Temp: temp}}
	clean := path.Clean(filepath.ToSlash(hint))
	if hint == "" || clean == "..." {
		return s, f.selectAll(ctx, s)
	}
	prefix, _, isPattern := strings.Cut(clean, "...")
	rel := clean
	switch {
	case isPattern:
		rel = path.Dir(prefix + "x")
	case strings.HasSuffix(clean, ".go"):
		rel = path.Dir(clean)
	}
	dir, _, err := f.dir(rel)
	isDir := err == nil && exists(dir)
	switch {
	case isDir:
	case err != nil && !errors.Is(err, errNoDirectory): // it leads out
		return nil, err
	case strings.HasPrefix(hint, "./") || strings.HasSuffix(clean, ".go"):
		return nil, fmt.Errorf("there is no directory %s in the workspace", rel)
	case isPattern:
		s.Patterns = []string{clean}
		return s, nil
	default:
		found, err := f.lookUp(ctx, s.Go, clean)
		if err != nil {
			return nil, err
		}
		dir = f.Root.Join(found)
	}
	if module := f.nested(dir); module != "" {
		s.Go.Dir = module
	}
	below, err := filepath.Rel(s.Go.Dir, dir)
	if err != nil {
		return nil, err
	}
	s.Patterns = []string{"./" + filepath.ToSlash(below)}
	if isPattern {
		s.Patterns[0] = "./" + path.Join(filepath.ToSlash(below), strings.TrimPrefix(clean, cleanDir(rel)))
	}
	return s, nil
}

// cleanDir returns the beginning of a pattern that names a directory.
func cleanDir(rel string) string {
	if rel == "." {
		return ""
	}
	return rel + "/"
}

// selectAll selects all packages of the workspace.
func (f *Finder) selectAll(ctx context.Context, s *Selection) error {
	listing, err := source.List(ctx, f.Root)
	if err != nil {
		return err
	}
	var nested []string
	for _, dir := range listing.ModuleDirs() {
		if rel, ok := f.Root.Relative(dir); ok && rel != "." && len(nested) < maxModules {
			nested = append(nested, rel)
		}
	}
	home := gocode.ModuleDir(string(f.Root))
	if home == "" && len(nested) == 0 {
		return errors.New("the workspace has no go.mod, and neither has a directory above it: there are no packages to work on")
	}
	if home == "" {
		return fmt.Errorf("the workspace's root has no go.mod; name one of the modules in it, as ./DIR/... of %s",
			strings.Join(nested, ", "))
	}
	s.Patterns = f.everything()
	for _, dir := range nested {
		if !slices.Contains(s.Patterns, "./"+dir+"/...") {
			s.LeftOut = append(s.LeftOut, dir)
		}
	}
	return nil
}

// maxModules bounds how many modules are named.
const maxModules = 20

// Refuse refuses packages outside of the workspace, which a pattern may name.
func (f *Finder) Refuse(packages []*gocmd.Package) error {
	for _, p := range packages {
		if _, ok := f.Root.Relative(p.Dir); p.Dir != "" && !ok {
			return gocode.RefusePackage(p.ImportPath, "it is not a package of the workspace")
		}
	}
	return nil
}

// Rel returns a path from the root; the path itself if it is not in the workspace. A
// relative path is one from dir.
func (f *Finder) Rel(dir, name string) string {
	full := name
	if !filepath.IsAbs(full) {
		full = filepath.Join(dir, full)
	}
	if rel, ok := f.Root.Relative(full); ok {
		return rel
	}
	return name
}

func exists(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}
