package plugin

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/sandbox"
)

// maxScriptLine is how much the kernel reads of a script's first line.
const maxScriptLine = 256

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
	p.Read.List = append(append(p.Read.List, line[0]), libraries(line[:1])...)
	if p.Exec.Any || !isScript {
		return nil
	}
	if scriptLine(line[0]) != nil {
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
	line := scriptLine(script)
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

// libraries returns what programs that were installed as a tree of their own, such as ~/.nvm or a
// virtual environment of Python, read of it: of TREE/bin/PROGRAM, that is TREE/lib and its like.
func libraries(programs []string) (out []string) {
	for _, program := range programs {
		target, err := filepath.EvalSymlinks(program)
		if err != nil {
			continue
		}
		for _, path := range []string{program, target} {
			bin, tree := filepath.Dir(path), filepath.Dir(filepath.Dir(path))
			if base := filepath.Base(bin); tree == "/" || base != "bin" && base != "sbin" {
				continue
			}
			for _, name := range []string{"lib", "lib64", "pyvenv.cfg"} {
				out = append(out, filepath.Join(tree, name))
			}
		}
	}
	return out
}

// scriptLine returns the interpreter that a script names, and its argument if it has one; nil:
// it is not a script.
func scriptLine(path string) []string {
	f, _, err := safefile.OpenTarget(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	begin := make([]byte, maxScriptLine)
	n, _ := f.Read(begin)
	text, ok := bytes.CutPrefix(begin[:n], []byte("#!"))
	if !ok {
		return nil
	}
	text, _, _ = bytes.Cut(text, []byte("\n"))
	path, argument, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	if path == "" {
		return nil
	}
	if argument = strings.TrimSpace(argument); argument != "" {
		return []string{path, argument}
	}
	return []string{path}
}
