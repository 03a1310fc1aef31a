package gocheck

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/plugins/execution/internal/gocmd"
	"github.com/toolhost/toolhost/plugins/execution/internal/target"
)

// Checker checks packages of the workspace.
type Checker struct {
	Finder *target.Finder
	Scrub  func(string) string
	// Flags are those of go build that decide which files belong to a package, such as -tags.
	Flags []string
	Tests bool // include test files
	// Report is told what the check does next; done counts to 2.
	Report func(done int, doing string)
}

// wholePaths overrides -trimpath in GOFLAGS: with it, what the build cache keeps of go vet
// belongs to any directory with the same files, and names those of the first.
const wholePaths = "-trimpath=false"

// Report is what a check found.
type Report struct {
	Packages   int       // that were checked
	Problems   []Problem // by place, what does not compile first
	More       bool      // the compiler left some out
	NotChecked []string  // packages that need others which do not compile
}

// Check compiles the packages, and has go vet look at those that compile. Nothing is
// linked: what is compiled goes to the build cache, for the tests to use.
//
// # Errors
//
// [tool.CodePermissionDenied] if a package is not of the workspace.
func (c *Checker) Check(ctx context.Context, s *target.Selection) (Report, error) {
	problems := &Problems{Place: func(file string) string { return c.Finder.Rel(s.Go.Dir, file) }, Scrub: c.Scrub}
	c.Report(0, "compiling")
	args := append([]string{"-e", "-export", wholePaths}, c.Flags...)
	if c.Tests {
		args = append(args, "-test")
	}
	g, err := gocmd.List(ctx, s.Go, slices.Concat(args, []string{"--"}, s.Patterns)...)
	if err != nil {
		var failed *gocmd.Error
		if !errors.As(err, &failed) {
			return Report{}, err
		}
		problems.AddOutput(failed.Output)
		return report(problems, Report{}), nil
	}
	if err := c.Finder.Refuse(g.Order); err != nil {
		return Report{}, err
	}
	if len(g.Order) == 0 {
		return Report{}, fmt.Errorf("there are no packages in %s; name a directory with packages, as ./host/... does",
			strings.Join(s.Patterns, " "))
	}
	out, vet := c.compiled(g, problems)
	c.Report(1, "running go vet")
	if len(vet) > 0 {
		if err := c.vet(ctx, s, vet, problems); err != nil {
			return Report{}, err
		}
	}
	c.Report(2, "done")
	return report(problems, out), nil
}

func report(p *Problems, out Report) Report {
	out.Problems, out.More = p.List()
	return out
}

// compiled adds what the go command and the compiler said of the packages, and returns
// those that are fit for go vet.
func (c *Checker) compiled(g *gocmd.Graph, problems *Problems) (out Report, vet []*gocmd.Package) {
	bad := map[string]bool{}
	for _, p := range g.Order {
		of := tested(g, p)
		for _, e := range slices.Concat([]*gocmd.PackageError{p.Error}, p.DepsErrors) {
			if e != nil {
				bad[of.ImportPath] = true
				addError(problems, e)
			}
		}
		if p.Error == nil || !isOutput(p.Error) {
			addSyntax(problems, p)
		}
	}
	for _, p := range g.Order {
		if tested(g, p) != p {
			continue
		}
		out.Packages++
		switch {
		case !bad[p.ImportPath]:
			vet = append(vet, p)
		case p.Error == nil && len(p.DepsErrors) > 0 && !problems.in(c.Finder.Rel("", p.Dir)):
			out.NotChecked = append(out.NotChecked, p.ImportPath)
		}
	}
	return out, vet
}

// tested returns the package that another one is for the tests of, else the package itself.
func tested(g *gocmd.Graph, p *gocmd.Package) *gocmd.Package {
	path := p.ForTest
	if path == "" && p.Name == "main" {
		path = strings.TrimSuffix(p.ImportPath, ".test")
	}
	if of := g.Packages[path]; of != nil {
		return of
	}
	return p
}

// isOutput reports whether the compiler printed an error.
func isOutput(e *gocmd.PackageError) bool { return strings.HasPrefix(e.Err, "# ") }

// addError adds an error of the go command. If the compiler printed it, it has no position
// of its own.
func addError(problems *Problems, e *gocmd.PackageError) {
	if isOutput(e) {
		problems.AddOutput(e.Err)
		return
	}
	message := strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(e.Err), ":\n\t", ": "), "\n\t", "; ")
	if strings.Contains(message, "import cycle") && len(e.ImportStack) > 1 {
		message += ": " + strings.Join(e.ImportStack, " imports ")
	}
	if e.Pos == "" {
		problems.AddOutput(message)
		return
	}
	problems.AddAt(e.Pos, message, "")
}

// addSyntax adds the syntax errors of a package that was not compiled for another reason.
func addSyntax(problems *Problems, p *gocmd.Package) {
	for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.Dir, name)
		}
		_, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if list, ok := errors.AsType[scanner.ErrorList](err); ok {
			for _, e := range list[:min(len(list), 10)] {
				problems.Add(Problem{
					File: e.Pos.Filename, Line: e.Pos.Line, Column: e.Pos.Column, Message: "syntax error: " + e.Msg,
				})
			}
		}
	}
}

// vet adds what go vet finds in packages.
func (c *Checker) vet(ctx context.Context, s *target.Selection, packages []*gocmd.Package, problems *Problems) error {
	args := append([]string{"vet", "-json", "-buildvcs=false", wholePaths}, c.Flags...)
	if !c.Tests { // go vet has no flag for that
		overlay := gocmd.Overlay{}
		for _, p := range packages {
			overlay.Hide(p.Dir, p.TestGoFiles, p.XTestGoFiles)
		}
		name, err := overlay.Write(s.Go.Temp)
		if err != nil {
			return err
		}
		args = append(args, "-overlay="+name)
	}
	args = append(args, "--")
	for _, p := range packages {
		args = append(args, p.ImportPath)
	}
	stdout, stderr, err := s.Go.Run(ctx, args...)
	var failed *gocmd.Error
	if err != nil && !errors.As(err, &failed) {
		return err
	}
	findings := append(gocmd.Findings(stdout), gocmd.Findings(stderr)...)
	for _, f := range findings {
		problems.AddAt(f.Posn, f.Message, f.Analyzer)
	}
	if failed != nil && len(findings) == 0 {
		problems.AddOutput(stderr)
	}
	return nil
}
