package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// overlay writes what was generated where only this call sees it, and tells the
// go command to take it for files of the package.
func (a *attempt) overlay() (string, error) {
	dir := filepath.Join(a.private, "overlay")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	files := map[string]string{}
	for name, content := range a.gen {
		files[filepath.Join(a.target.dir, name)] = content
	}
	if !a.program.isMain {
		files[filepath.Join(a.target.dir, mainDir, "main.go")] = mainFile(a.target.name)
	}
	replace := struct{ Replace map[string]string }{map[string]string{}}
	for path, content := range files {
		copied := filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(copied, []byte(content), 0o600); err != nil {
			return "", err
		}
		replace.Replace[path] = copied
	}
	list, err := json.Marshal(replace)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, list, 0o600)
}

// pattern is the target, or its program, for the go command.
func (a *attempt) pattern(program bool) (string, error) {
	rel, err := filepath.Rel(a.target.toolchain.dir, a.target.dir)
	if err != nil {
		return "", err
	}
	if program && !a.program.isMain {
		rel = filepath.Join(rel, mainDir)
	}
	return "./" + filepath.ToSlash(rel), nil
}

// build makes the program and gives its path. What keeps the form from compiling
// is [problems].
func (a *attempt) build(ctx context.Context) (string, error) {
	out := filepath.Join(a.private, "program")
	// Symbols and DWARF are for debuggers; stacks have their lines without them. What
	// is compiled anew is not optimized: that takes longer than most forms run.
	return out, a.goCompile(ctx, true, "build", "-o="+out, "-ldflags=-s -w", "-gcflags="+a.compiledAnew()+"-dwarf=false -N -l")
}

// compiledAnew says whom compiler flags are for: the package, and nothing that it
// imports, as all of that comes from the cache. A program is meant without a word.
func (a *attempt) compiledAnew() string {
	if a.program.isMain {
		return ""
	}
	return a.target.name + "="
}

// compileOnly compiles the package and links nothing.
func (a *attempt) compileOnly(ctx context.Context) error {
	return a.goCompile(ctx, false, "list", "-export", "-f={{.ImportPath}}")
}

func (a *attempt) goCompile(ctx context.Context, program bool, args ...string) error {
	overlay, err := a.overlay()
	if err != nil {
		return fmt.Errorf("the form cannot be written for the compiler: %w", err)
	}
	pattern, err := a.pattern(program)
	if err != nil {
		return err
	}
	_, _, err = a.target.run(ctx, append(args, "-buildvcs=false", "-overlay="+overlay, pattern)...)
	return a.explainBuild(ctx, err)
}

// explainBuild makes of what the go command said what its caller has to know.
func (a *attempt) explainBuild(ctx context.Context, err error) error {
	var failed *toolError
	if !errors.As(err, &failed) {
		return err
	}
	found := buildProblems(failed.output, a.form.number, a.scrub(ctx, a.target.toolchain))
	if len(found.list) > 0 && found.list[0].Line == 0 {
		return fmt.Errorf("package %s does not compile with the form:\n%s", a.target.name, found.Error())
	}
	return found
}

// vet gives what go vet warns of in the form; nothing where the package's directory
// is only said to be there.
func (a *attempt) vet(ctx context.Context) ([]problem, error) {
	if _, err := os.Stat(a.target.dir); err != nil {
		return []problem{}, nil //nolint:nilerr // see above
	}
	overlay, err := a.overlay()
	if err != nil {
		return nil, fmt.Errorf("the form cannot be written for go vet: %w", err)
	}
	pattern, err := a.pattern(false)
	if err != nil {
		return nil, err
	}
	stdout, stderr, err := a.target.run(ctx, "vet", "-json", "-buildvcs=false", "-overlay="+overlay, pattern)
	if err != nil {
		return nil, a.explainBuild(ctx, err)
	}
	found := &problems{list: []problem{}}
	for _, text := range []string{stdout, stderr} {
		a.vetProblems(text, found)
	}
	return found.list, nil
}

// vetProblems reads what go vet printed: an object for each package, comments
// between them.
func (a *attempt) vetProblems(text string, found *problems) {
	var lines strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			lines.WriteString(line)
		}
	}
	for dec := json.NewDecoder(strings.NewReader(lines.String())); ; {
		var packages map[string]map[string]json.RawMessage
		if dec.Decode(&packages) != nil {
			return
		}
		for _, analyzers := range packages {
			for _, name := range sortedKeys(analyzers) {
				var warnings []struct{ Posn, Message string }
				if json.Unmarshal(analyzers[name], &warnings) != nil { // an analyzer's own failure
					continue
				}
				for _, w := range warnings {
					if one, ok := locate(w.Posn, a.form.number); ok && one.Form == 0 {
						one.Message = w.Message + " (" + name + ")"
						found.add(one)
					}
				}
			}
		}
	}
}
