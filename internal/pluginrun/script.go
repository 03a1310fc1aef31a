package pluginrun

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/observe"
	"github.com/toolhost/toolhost/internal/sandbox"
)

// interpret makes the interpreter of a script what is started, unless any program may be: the
// kernel cannot start a script whose file is not handed on, and env(1), which looks for the
// interpreter, would start another program, which need not be one that may be started.
func (c *command) interpret(p *sandbox.Profile) error {
	c.script = nil
	line, err := c.interpreter(p.Program)
	if err != nil {
		return err
	}
	isScript := line != nil
	if !isScript {
		line = []string{p.Program}
	}
	p.Read.List = append(append(p.Read.List, line[0]), observe.Libraries(line[:1])...)
	if p.Exec.Any || !isScript {
		return nil
	}
	if observe.Interpreter(line[0]) != nil {
		return &startFailure{reason: "its interpreter, " + line[0] + ", is a script that starts other programs, which its sandbox does not let it: " +
			"name the interpreter that this leads to in the first line of the plugin, or give it exec: any", err: exec.ErrNotFound}
	}
	c.script = slices.Concat(line, []string{p.Program})
	p.Script, p.Program = p.Program, line[0]
	return nil
}

// interpreter returns what a script is run with: a program and its arguments, which env(1) would
// find as is done here; nil: it is not a script.
func (c *command) interpreter(script string) ([]string, error) {
	line := observe.Interpreter(script)
	if len(line) < 2 || filepath.Base(line[0]) != "env" {
		return line, nil
	}
	words := line[1:]
	if split, ok := strings.CutPrefix(line[1], "-S"); ok && !strings.ContainsAny(split, "'\"\\$") {
		words = strings.Fields(split)
	}
	if len(words) == 0 || strings.HasPrefix(words[0], "-") || strings.Contains(words[0], "=") {
		return line, nil
	}
	path, err := findProgram(words[0], "", c.env)
	return append([]string{path}, words[1:]...), err
}

// modulesOf returns the paths of files that a plugin says that it consists of: those below its
// own directory. Others it has to declare.
func modulesOf(plugin string, files []string) (out []string) {
	for _, file := range files {
		if filepath.IsLocal(file) {
			out = append(out, filepath.Join(filepath.Dir(plugin), file))
		}
	}
	return out
}

// findProgram is [observe.Program] for a start.
func findProgram(name, dir string, env []string) (string, error) {
	path, err := observe.Program(name, dir, env)
	if err != nil {
		return "", &startFailure{reason: err.Error(), err: exec.ErrNotFound}
	}
	return path, nil
}
