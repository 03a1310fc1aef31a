package source

import (
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// Root is the workspace's directory: absolute, without symbolic links. Answers
// name no other directories of the machine.
type Root string

// OpenRoot returns the root of the workspace in a directory. Links are resolved
// because the go command reports real paths, which positions are cut from.
func OpenRoot(dir string) (Root, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", fmt.Errorf("the workspace cannot be read: %w", err)
	}
	info, err := os.Stat(abs)
	if err != nil {
		return "", fmt.Errorf("the workspace cannot be read: %w", err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("the workspace %s is not a directory; the operator has to name one", abs)
	}
	return Root(abs), nil
}

// Join returns the path of a file or directory below the root. The elements may
// use slashes.
func (r Root) Join(elements ...string) string {
	return filepath.Join(string(r), filepath.FromSlash(filepath.Join(elements...)))
}

// Relative returns a file's path below the root, with slashes. It reports false
// if the file is not below the root.
func (r Root) Relative(file string) (string, bool) {
	rel, err := filepath.Rel(string(r), file)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// Position formats a position without naming directories of the machine: below
// the root as path:line:col, elsewhere as import/path/file.go:line.
func (r Root) Position(p token.Position, importPath string) string {
	if !p.IsValid() {
		return ""
	}
	if rel, ok := r.Relative(p.Filename); ok {
		return fmt.Sprintf("%s:%d:%d", rel, p.Line, p.Column)
	}
	return fmt.Sprintf("%s/%s:%d", importPath, filepath.Base(p.Filename), p.Line)
}

var machinePath = lazy.Regexp(`(^|[\s"'(=])/(?:[^\s:"'()/]+/)+`)

// Scrub returns a message of the go command or the type checker on one line and
// without directories of the machine.
func (r Root) Scrub(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	text = strings.ReplaceAll(text, string(r)+string(filepath.Separator), "")
	return machinePath().ReplaceAllString(text, "$1")
}
