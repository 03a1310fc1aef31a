package words

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

var update = flag.Bool("update", false, "write the list of public names")

// A new public name is a decision, as others may build on it.
func TestPublicNames(t *testing.T) {
	t.Parallel()
	const root, list = "../../..", "testdata/api.txt"
	var names []string
	for _, dir := range []string{"host", "pluginsdk"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, dir), func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case e.IsDir() && (e.Name() == "internal" || e.Name() == "testdata"):
				return fs.SkipDir
			case e.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			of := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), root+"/") + " "
			ast.FileExports(file)
			for _, d := range file.Decls {
				for _, name := range declared(d) {
					names = append(names, of+name)
				}
			}
			return nil
		}))
	}
	slices.Sort(names)
	got := strings.Join(slices.Compact(names), "\n") + "\n"
	if *update {
		require.NoError(t, os.WriteFile(list, []byte(got), 0o600))
	}
	want := string(require.Must(os.ReadFile(list))(t))
	for _, change := range []struct{ in, out, what string }{{got, want, "new"}, {want, got, "gone"}} {
		for name := range strings.Lines(change.in) {
			if !strings.Contains("\n"+change.out, "\n"+name) {
				t.Errorf("%s is %s: run the test with -update if that is meant", strings.TrimSpace(name), change.what)
			}
		}
	}
}

// declared returns the names that a declaration makes public, of which [ast.FileExports] has left the exported.
func declared(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		if of := strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*"); ast.IsExported(of) {
			return []string{of + "." + d.Name.Name}
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					names = append(names, id.Name)
				}
			}
		}
	}
	return names
}
