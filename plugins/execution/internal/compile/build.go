package compile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

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
	var failed *gocmd.Error
	if errors.As(err, &failed) {
		problems := form.BuildProblems(failed.Output, c.Form.Number, c.Scrub(ctx))
		if len(problems) > 0 && problems[0].Line == 0 {
			return "", "", fmt.Errorf("package %s does not compile with the form:\n%s", c.Target.Path, problems.Error())
		}
		return "", "", problems
	}
	return stdout, stderr, err
}

// writeOverlay writes the generated files to the temporary directory, and a file
// for go build -overlay that makes them files of the package.
func (c *Compilation) writeOverlay() (string, error) {
	dir := filepath.Join(c.temp, "overlay")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	files := map[string]string{}
	for name, content := range c.Program.Files() {
		files[filepath.Join(c.Target.Dir, name)] = content
	}
	if !c.Program.IsMain {
		files[filepath.Join(c.Target.Dir, program.MainDir, "main.go")] = program.MainFile(c.Target.Path)
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for path, content := range files {
		copied := filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(copied, []byte(content), 0o600); err != nil {
			return "", err
		}
		overlay.Replace[path] = copied
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, list, 0o600)
}
