package compile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/plugins/execution/internal/form"
	"github.com/toolhost/toolhost/plugins/execution/internal/gocmd"
	"github.com/toolhost/toolhost/plugins/execution/internal/program"
)

// Build builds the program and returns its path.
//
// # Errors
//
// [form.Problems] if the form does not compile.
func (c *Compilation) Build(ctx context.Context) (string, error) {
	c.tellLost()
	out := filepath.Join(c.temp, "program")
	// Flags for the package alone, because all that it imports comes from the build
	// cache. A flag without a pattern is for the main package.
	var pattern string
	if !c.Program.IsMain {
		pattern = c.Target.Path + "="
	}
	// Symbols and DWARF are for debuggers; stacks have lines without them. The package
	// is not optimized: that takes longer than most forms run.
	_, _, err := c.run(ctx, true, "build", "-o="+out, "-ldflags=-s -w", "-gcflags="+pattern+"-dwarf=false -N -l")
	return out, err
}

// CompileOnly compiles the package without linking a program.
//
// # Errors
//
// [form.Problems] if the form does not compile.
func (c *Compilation) CompileOnly(ctx context.Context) error {
	_, _, err := c.run(ctx, false, "list", "-export", "-f={{.ImportPath}}")
	return err
}

// run runs the go command on the package with the generated files, or on the
// program that runs them.
func (c *Compilation) run(ctx context.Context, isProgram bool, args ...string) (stdout, stderr string, err error) {
	overlay, err := c.writeOverlay()
	if err != nil {
		return "", "", fmt.Errorf("the form cannot be written for the compiler: %w", err)
	}
	rel, err := filepath.Rel(c.Target.Go.Dir, c.Target.Dir)
	if err != nil {
		return "", "", err
	}
	if isProgram && !c.Program.IsMain {
		rel = filepath.Join(rel, program.MainDir)
	}
	args = append(args, "-buildvcs=false", "-overlay="+overlay, "./"+filepath.ToSlash(rel))
	stdout, stderr, err = c.Target.Go.Run(ctx, args...)
	if failed, ok := errors.AsType[*gocmd.Error](err); ok {
		scrub := c.Scrub(ctx)
		problems := form.BuildProblems(failed.Output, c.Form.Number, func(text string) string {
			return program.Plain(scrub(text))
		})
		if len(problems) > 0 && problems[0].Line == 0 {
			return "", "", c.ownProblem(problems.Error(), scrub)
		}
		return "", "", problems
	}
	return stdout, stderr, err
}

// writeOverlay writes the generated files to the temporary directory, and a file
// for go build -overlay that makes them files of the package.
func (c *Compilation) writeOverlay() (string, error) {
	overlay := gocmd.Overlay{}
	maps.Copy(overlay, c.files)
	if err := c.addTests(overlay); err != nil {
		return "", err
	}
	// With the package's tests, go vet would compile all that they import and that imports
	// the package, for each form.
	entries, _ := os.ReadDir(c.Target.Dir)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "_test.go") {
			overlay.Hide(c.Target.Dir, []string{e.Name()})
		}
	}
	for name, content := range c.Program.Files() {
		overlay[filepath.Join(c.Target.Dir, name)] = content
	}
	if !c.Program.IsMain {
		overlay[filepath.Join(c.Target.Dir, program.MainDir, "main.go")] = program.MainFile(c.Target.Path)
	}
	return overlay.Write(c.temp)
}

// addTests adds the package's test files under names that make them a part of the package.
func (c *Compilation) addTests(overlay gocmd.Overlay) error {
	if c.tests == nil {
		return nil
	}
	for name, path := range c.tests.Files {
		content, changed := overlay[path]
		if !changed {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = string(text)
		}
		overlay[filepath.Join(c.Target.Dir, program.TestFile(name))] = "//line " + path + ":1\n" + content
	}
	return nil
}
