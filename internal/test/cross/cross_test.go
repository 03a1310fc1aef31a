package cross

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/toolhost/toolhost/internal/test/require"
)

// Types are checked from source: compiling every dependency for a system on which nothing is run
// takes five times as long. `make release` compiles and links.
func TestMacOS(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 11 s: .ci/long runs it")
	}
	root := require.Must(filepath.Abs("../../.."))(t)
	pkgs := require.Must(packages.Load(&packages.Config{
		Mode: packages.LoadAllSyntax, Dir: root, Context: t.Context(),
		Env: append(os.Environ(), "GOOS=darwin", "CGO_ENABLED=0"),
		ParseFile: func(files *token.FileSet, name string, text []byte) (*ast.File, error) {
			f, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
			if err == nil && !strings.HasPrefix(name, root+string(filepath.Separator)) {
				stripBodies(f)
			}
			return f, err
		},
	}, "./..."))(t)
	if len(pkgs) < 100 {
		t.Errorf("%d packages, want those of the module", len(pkgs))
	}
	for _, p := range pkgs {
		for _, err := range p.Errors {
			t.Error(err)
		}
	}
}

// stripBodies leaves the declarations: those who use a package see nothing else of it.
func stripBodies(f *ast.File) {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			fn.Body = nil
		}
	}
}
