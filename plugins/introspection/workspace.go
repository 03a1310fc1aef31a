package main

import (
	"errors"
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
)

// workspace is the directory that questions are about and what is already
// known of the packages in and below it. It is safe for concurrent use once it
// is open.
type workspace struct {
	root      string // absolute, without symbolic links
	sources   sources
	graphs    flights[*graph]
	modules   atomic.Pointer[graph] // the workspace's packages and what they import
	std       atomic.Pointer[graph]
	strays    strays
	units     units
	programs  programs
	universes universes
	forms     desk
}

var errNotOpen = errors.New("the plugin has no workspace yet; the host names one when it configures the plugin")

// open sets the root. Links are resolved because the go command reports real
// paths, which positions are cut from.
func (w *workspace) open(root string) error {
	abs, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return fmt.Errorf("the workspace cannot be read: %w", err)
	}
	info, err := os.Stat(abs)
	if err != nil {
		return fmt.Errorf("the workspace cannot be read: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("the workspace %s is not a directory", abs)
	}
	w.root = abs
	return nil
}

// relative is the path below the root, with slashes, of a file that is there.
func (w *workspace) relative(file string) (string, bool) {
	rel, err := filepath.Rel(w.root, file)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// position shows where something is without naming directories of the machine:
// below the root as path:line:col, elsewhere as import/path/file.go:line.
func (w *workspace) position(p token.Position, importPath string) string {
	if !p.IsValid() {
		return ""
	}
	if rel, ok := w.relative(p.Filename); ok {
		return fmt.Sprintf("%s:%d:%d", rel, p.Line, p.Column)
	}
	return fmt.Sprintf("%s/%s:%d", importPath, filepath.Base(p.Filename), p.Line)
}

var machinePath = regexp.MustCompile(`(^|[\s"'(=])/(?:[^\s:"'()/]+/)+`)

// scrub makes one line without machine directories of what the go command or
// the type checker said.
func (w *workspace) scrub(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	text = strings.ReplaceAll(text, w.root+string(filepath.Separator), "")
	return machinePath.ReplaceAllString(text, "$1")
}
