package observe

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/internal/safefile"
)

// maxScriptLine is how much the kernel reads of a script's first line.
const maxScriptLine = 256

// Libraries returns what programs that were installed as a tree of their own, such as ~/.nvm or a
// virtual environment of Python, read of it: of TREE/bin/PROGRAM, that is TREE/lib and its like.
func Libraries(programs []string) (out []string) {
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

// Interpreter returns the interpreter that a script names, and its argument if it has one; nil:
// it is not a script.
func Interpreter(path string) []string {
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
