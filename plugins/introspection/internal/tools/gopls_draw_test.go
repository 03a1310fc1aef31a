package tools

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/internal/gocode"
)

// specimen is a symbol that both are asked for.
type specimen struct {
	sort   string // func, method, abstract (an interface's method), field, type, var or const
	kinds  []string
	symbol string // as it is named to a tool
	pkg    string
	at     spot // its declaration; of what is promoted a use
	inTest bool
}

// The kinds that every draw has some of.
const (
	kindGeneric   = "generic"
	kindPromoted  = "promoted by two embeddings"
	kindInterface = "interface satisfaction"
	kindShadowed  = "shadowed name"
	kindTagged    = "build tags"
	kindTest      = "test file"
	kindAnonymous = "part of a type without a name"
)

var kindsDrawn = []string{kindGeneric, kindPromoted, kindInterface, kindShadowed, kindTagged, kindTest, kindAnonymous}

// census lists all symbols of a module, from its syntax alone.
type census struct {
	root     string
	fset     *token.FileSet
	found    []specimen
	abstract map[string]bool // names of interfaces' methods
	lines    int
}

// goPackage is what the go command tells of a package.
type goPackage struct {
	Dir, ImportPath                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

func takeCensus(t testing.TB, root string) *census {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=Dir,ImportPath,GoFiles,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = root
	out := require.Must(cmd.Output())(t)
	c := &census{root: root, fset: token.NewFileSet(), abstract: map[string]bool{}}
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for decoder.More() {
		var p goPackage
		require.NoError(t, decoder.Decode(&p))
		c.add(t, p.ImportPath, p.Dir, p.GoFiles, p.TestGoFiles)
		c.add(t, p.ImportPath+"_test", p.Dir, nil, p.XTestGoFiles)
	}
	for i := range c.found {
		s := &c.found[i]
		name := s.symbol[strings.LastIndex(s.symbol, ".")+1:]
		if s.sort == "abstract" || s.sort == "method" && c.abstract[name] {
			s.kinds = append(s.kinds, kindInterface)
		}
	}
	return c
}

func (c *census) add(t testing.TB, path, dir string, plain, tests []string) {
	local := map[string]bool{}
	first := len(c.found)
	for _, name := range append(slices.Clone(plain), tests...) {
		content := require.Must(os.ReadFile(filepath.Join(dir, name)))(t)
		c.lines += strings.Count(string(content), "\n")
		f, err := parser.ParseFile(c.fset, filepath.Join(dir, name), content, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		var common []string
		if strings.Contains(string(content[:c.fset.Position(f.Package).Offset]), "//go:build") || strings.HasSuffix(name, "_linux.go") {
			common = append(common, kindTagged)
		}
		inTest := slices.Contains(tests, name)
		if inTest {
			common = append(common, kindTest)
		}
		from := len(c.found)
		c.file(f, path)
		c.promoted(f, path, string(content))
		for i := from; i < len(c.found); i++ {
			c.found[i].inTest = inTest
			c.found[i].kinds = append(c.found[i].kinds, common...)
		}
		localNames(f, local)
	}
	for i := first; i < len(c.found); i++ {
		if s := &c.found[i]; !strings.Contains(s.symbol, ".") && local[s.symbol] {
			s.kinds = append(s.kinds, kindShadowed)
		}
	}
}

func (c *census) spot(pos token.Pos) spot {
	p := c.fset.PositionFor(pos, false)
	rel, _ := filepath.Rel(c.root, p.Filename)
	return spot(fmt.Sprintf("%s:%d:%d", filepath.ToSlash(rel), p.Line, p.Column))
}

// note adds a symbol. Nothing can name "_" and "init".
func (c *census) note(sort, pkg, of string, id *ast.Ident, generic bool) {
	if id.Name == "_" || id.Name == "init" && of == "" || of == "_" {
		return
	}
	s := specimen{sort: sort, symbol: id.Name, pkg: pkg, at: c.spot(id.Pos())}
	if of != "" {
		s.symbol = of + "." + id.Name
	}
	if generic {
		s.kinds = append(s.kinds, kindGeneric)
	}
	c.found = append(c.found, s)
}

func (c *census) file(f *ast.File, pkg string) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				c.note("func", pkg, "", d.Name, d.Type.TypeParams != nil)
				continue
			}
			recv := d.Recv.List[0].Type
			if star, ok := recv.(*ast.StarExpr); ok {
				recv = star.X
			}
			_, isName := recv.(*ast.Ident)
			c.note("method", pkg, gocode.TypeName(recv).Name, d.Name, !isName)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				c.spec(d.Tok, spec, pkg)
			}
		}
	}
}

func (c *census) spec(tok token.Token, spec ast.Spec, pkg string) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, id := range spec.Names {
			c.note(tok.String(), pkg, "", id, false)
			c.members(spec.Type, pkg, id.Name, false, kindAnonymous)
		}
	case *ast.TypeSpec:
		generic := spec.TypeParams != nil
		c.note("type", pkg, "", spec.Name, generic)
		if !spec.Assign.IsValid() {
			c.members(spec.Type, pkg, spec.Name.Name, generic)
		}
	}
}

// members adds the fields of a struct or the methods of an interface, and those of
// structs without a name within it.
func (c *census) members(t ast.Expr, pkg, of string, generic bool, kinds ...string) {
	var members *ast.FieldList
	sort := "field"
	switch t := t.(type) {
	case *ast.StructType:
		members = t.Fields
	case *ast.InterfaceType:
		if members, sort = t.Methods, "abstract"; len(kinds) > 0 {
			return
		}
	case *ast.ArrayType:
		c.members(t.Elt, pkg, of, generic, kindAnonymous)
	case *ast.StarExpr:
		c.members(t.X, pkg, of, generic, kindAnonymous)
	case *ast.MapType:
		c.members(t.Value, pkg, of, generic, kindAnonymous)
	}
	if members == nil || of == "_" {
		return
	}
	for _, m := range members.List {
		from := len(c.found)
		for _, id := range m.Names {
			c.note(sort, pkg, of, id, generic)
			c.abstract[id.Name] = c.abstract[id.Name] || sort == "abstract"
		}
		if id := gocode.TypeName(m.Type); len(m.Names) == 0 && sort == "field" && id != nil {
			c.note(sort, pkg, of, id, generic)
		}
		for i := from; i < len(c.found); i++ {
			c.found[i].kinds = append(c.found[i].kinds, kinds...)
		}
		for _, id := range m.Names {
			if id.Name != "_" {
				c.members(m.Type, pkg, of+"."+id.Name, generic, kindAnonymous)
			}
		}
	}
}

var promotedLine = regexp.MustCompile(`\.(\w+)\W.*// promoted ([\w.]+)$`)

// promoted finds the uses that the specimens mark.
func (c *census) promoted(f *ast.File, pkg, content string) {
	name := c.fset.PositionFor(f.Package, false).Filename
	rel, _ := filepath.Rel(c.root, name)
	for i, line := range strings.Split(content, "\n") {
		m := promotedLine.FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		symbol := line[m[4]:m[5]]
		at := strings.Index(line, symbol[strings.LastIndex(symbol, "."):]) + 2
		c.found = append(c.found, specimen{
			sort: "promoted", kinds: []string{kindPromoted}, symbol: symbol, pkg: strings.TrimSuffix(pkg, "_test"),
			at: spot(fmt.Sprintf("%s:%d:%d", filepath.ToSlash(rel), i+1, at)),
		})
	}
}

// localNames collects what functions declare within.
func localNames(f *ast.File, out map[string]bool) {
	names := func(ids ...ast.Expr) {
		for _, e := range ids {
			if id, ok := e.(*ast.Ident); ok {
				out[id.Name] = true
			}
		}
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if n.Tok == token.DEFINE {
					names(n.Lhs...)
				}
			case *ast.FuncType:
				for _, p := range n.Params.List {
					for _, id := range p.Names {
						names(id)
					}
				}
			case *ast.ValueSpec:
				for _, id := range n.Names {
					names(id)
				}
			}
			return true
		})
	}
}

// draw picks n symbols: at least one in ten of each kind, as far as there are
// so many, and the rest from all.
func (c *census) draw(r *rand.Rand, n int) []specimen {
	all := r.Perm(len(c.found))
	taken := map[int]bool{}
	take := func(want int, fits func(specimen) bool) {
		for _, i := range all {
			if want == 0 || len(taken) == n {
				return
			}
			if !taken[i] && fits(c.found[i]) {
				taken[i] = true
				want--
			}
		}
	}
	for _, kind := range kindsDrawn {
		take(max(1, n/10), func(s specimen) bool { return slices.Contains(s.kinds, kind) })
	}
	take(n-len(taken), func(specimen) bool { return true })
	var out []specimen
	for _, i := range all {
		if taken[i] {
			out = append(out, c.found[i])
		}
	}
	return out
}
