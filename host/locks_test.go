package host_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// Each lock of the packages that docs/architecture.md orders is named there. That the order is kept is not checked.
func TestLocksAreOrdered(t *testing.T) {
	t.Parallel()
	page := require.Must(os.ReadFile("../docs/architecture.md"))(t)
	_, section, _ := strings.Cut(string(page), "\n## The order of locks\n")
	section, _, _ = strings.Cut(section, "\n## ")
	found := 0
	for _, dir := range []string{
		"internal/roster", "fleet", "../internal/durable", "fleet/internal/link", "mcpserver", "mcpclient", "internal/mcpline", "internal/mcpwire",
	} {
		files := require.Must(filepath.Glob(dir + "/*.go"))(t)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			tree := require.Must(parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution))(t)
			for _, lock := range locksOf(tree) {
				if found++; !strings.Contains(section, "`"+lock+"`") {
					t.Errorf("%s has the lock %s: give it a place under \"The order of locks\" in docs/architecture.md", file, lock)
				}
			}
		}
	}
	if found < 35 {
		t.Errorf("only %d locks were found", found)
	}
}

// locksOf returns the fields of structs that are locks, as Type.field.
func locksOf(tree *ast.File) (out []string) {
	ast.Inspect(tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		structure, ok := spec.Type.(*ast.StructType)
		if !ok {
			return false
		}
		for _, field := range structure.Fields.List {
			kind, ok := field.Type.(*ast.SelectorExpr)
			if !ok || kind.Sel.Name != "Mutex" && kind.Sel.Name != "RWMutex" {
				continue
			}
			for _, name := range field.Names {
				out = append(out, spec.Name.Name+"."+name.Name)
			}
		}
		return false
	})
	return out
}
