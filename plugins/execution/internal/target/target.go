// Package target finds the package that a form is evaluated in. Start with
// [Finder.Find].
package target

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/toolhost/toolhost/plugins/execution/internal/gocmd"
	"github.com/toolhost/toolhost/plugins/execution/internal/program"
	"github.com/toolhost/toolhost/plugins/internal/gocode"
)

// Target is the package that a form becomes a part of.
type Target struct {
	Go       gocmd.Command
	Path     string // shown to callers: the import path, or [Scratch]
	Name     string
	Dir      string // absolute; it need not exist
	Pattern  string // for the go command; empty if the package has no files
	Language string // version, as 1.26
	// OnlyTests says that all files of the package are test files.
	OnlyTests bool
	// Given are packages that forms may use without an import, name to path, and Note says
	// why the target is not what was asked for; both for a scratch package.
	Given map[string]string
	Note  string
}

// Scratch is the path of a package that has no files, and what callers name it.
const Scratch = "scratch"

// IsEmpty reports whether the package has no files of its own.
func (t *Target) IsEmpty() bool { return t.Pattern == "" }

// matches reports whether a hint is the package's name or the end of its path.
func (t *Target) matches(hint string) bool {
	return t.Name == hint || t.Path == hint || strings.HasSuffix(t.Path, "/"+hint)
}

// refuse refuses a hint that leads out of the workspace or that the go command
// would take for a flag.
func refuse(hint string) error {
	if err := gocode.CheckPackage(hint); err != nil {
		return err
	}
	if strings.IndexByte(hint, 0) >= 0 || strings.Contains(hint, "...") {
		return gocode.RefusePackage(hint, "it does not name a single package")
	}
	return nil
}

// scratch returns an empty package of the workspace's module, whose go.mod or
// go.work is in home.
func scratch(root, home, temp string) (*Target, error) {
	content, err := os.ReadFile(filepath.Join(home, "go.mod"))
	if err != nil { // a go.work: the root does not belong to a module
		return standalone(temp)
	}
	// It is in the root, because go vet needs a directory that exists. Next to a package it
	// is in a directory that does not exist, and is not vetted.
	t := &Target{Go: gocmd.Command{Dir: root, Temp: temp}, Path: Scratch, Name: "main", Dir: root}
	if hasFiles(root, ".go", "_test.go") {
		t.Dir = filepath.Join(root, program.MainDir)
	}
	if parsed, err := modfile.ParseLax("go.mod", content, nil); err == nil && parsed.Go != nil {
		t.Language = parsed.Go.Version
	}
	return t, nil
}

// standalone returns an empty package in a module of its own, which can import
// the standard library only.
func standalone(temp string) (*Target, error) {
	root := filepath.Join(temp, "module")
	dir := filepath.Join(root, program.MainDir)
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "go.mod"), []byte("module scratch\n\ngo 1.25\n"), 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("the scratch module could not be written: %w", err)
	}
	goCmd := gocmd.Command{Dir: root, Temp: temp, Env: []string{"GOWORK=off", "GOFLAGS="}}
	return &Target{Go: goCmd, Path: Scratch, Name: "main", Dir: dir, Language: "1.25"}, nil
}

// hasFiles reports whether a directory has files whose names end with one suffix
// and not with another.
func hasFiles(dir, suffix, except string) bool {
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return strings.HasSuffix(e.Name(), suffix) && (except == "" || !strings.HasSuffix(e.Name(), except))
	})
}

var (
	errNoGoFiles   = errors.New("no Go files")
	errNoDirectory = errors.New("no directory")
	errNoWorkspace = errors.New("the plugin has no workspace yet; the host names one when it configures the plugin")
)
