// Package gocode has what the plugins that work on Go code share: how a caller
// may name a package, where its module is, and what files declare.
package gocode

import (
	"go/ast"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// CheckPackage refuses names of packages that would lead the go command out of
// the workspace, or that it would take for flags.
//
// # Errors
//
// permission_denied, with a hint.
func CheckPackage(name string) error {
	var reason string
	clean := path.Clean(filepath.ToSlash(name))
	switch {
	case strings.HasPrefix(name, "-"):
		reason = "it looks like a flag"
	case filepath.IsAbs(name), path.IsAbs(clean), filepath.VolumeName(name) != "":
		reason = "it is an absolute path"
	case clean == "..", strings.HasPrefix(clean, "../"):
		reason = "it leads out of the workspace"
	default:
		return nil
	}
	return RefusePackage(name, reason)
}

// RefusePackage returns the error for a package that must not be loaded.
func RefusePackage(name, reason string) error {
	return tool.Errorf(tool.CodePermissionDenied, "package %.200q is refused: %s", name, reason).At(callstage.Execute).
		Try("give an import path, a package name, or a directory relative to the workspace such as ./host")
}

// IsInternal reports whether only packages near it can import the package of a path.
func IsInternal(path string) bool {
	parts := strings.Split(path, "/")
	return slices.Contains(parts, "internal") || parts[0] == "vendor"
}

// ModuleDir returns the nearest directory, from dir upwards, that has a go.mod or
// go.work file. It is empty if there is none.
func ModuleDir(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		for _, name := range []string{"go.work", "go.mod"} {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
				return dir
			}
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// Declared returns the names that a file declares at the top level, methods as
// Type.Method. Those of init functions are not names.
func Declared(f *ast.File) map[string]*ast.Ident {
	out := map[string]*ast.Ident{}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil || d.Name.Name != "init" {
				out[FuncName(d)] = d.Name
			}
		case *ast.GenDecl:
			if d.Tok == token.IMPORT {
				continue
			}
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					out[spec.Name.Name] = spec.Name
				case *ast.ValueSpec:
					for _, n := range spec.Names {
						out[n.Name] = n
					}
				}
			}
		}
	}
	delete(out, "_")
	return out
}

// FuncName returns the name of a function, or Type.Method for a method. Type is ?
// if the receiver's type has no name.
func FuncName(d *ast.FuncDecl) string {
	if of := Receiver(d); of != "" {
		return of + "." + d.Name.Name
	}
	return d.Name.Name
}

// Receiver returns the name of the type that a method belongs to, and ? if that
// type has no name. It is empty for a function.
func Receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	if id := TypeName(d.Recv.List[0].Type); id != nil {
		return id.Name
	}
	return "?"
}

// TypeName returns the name in a type expression such as *pkg.T[K], or nil.
func TypeName(t ast.Expr) *ast.Ident {
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.SelectorExpr:
			return x.Sel
		case *ast.Ident:
			return x
		default:
			return nil
		}
	}
}
