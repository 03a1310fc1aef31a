// Package modproxy makes a module proxy of a checkout, by which go install and go get take this
// module as users will once it is published. Begin with [Write].
package modproxy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// Module is the path of the module.
const Module = "github.com/toolhost/toolhost"

// Environment is what makes go use the proxy in a directory, with modules in a cache of its own
// there: other modules come from the cache that go has now, and what is not in it, such as what only
// tests of dependencies need, from where go gets it now.
func Environment(dir, modules string) []string {
	rest := "off"
	if out, err := exec.Command("go", "env", "GOPROXY").Output(); err == nil { //nolint:noctx // as long as it takes
		rest = strings.TrimSpace(string(out))
	}
	return []string{
		"GOPROXY=file://" + filepath.ToSlash(dir) + ",file://" + filepath.ToSlash(modules) + "/cache/download," + rest,
		"GOSUMDB=off", "GONOSUMDB=*", "GOFLAGS=-modcacherw -trimpath", "GOWORK=off", "GOTOOLCHAIN=local",
		"GOMODCACHE=" + filepath.Join(dir, "modules"),
	}
}

// Write makes a proxy in dir that has the checkout at root as one version of the module.
func Write(dir, root, version string) (err error) {
	graph := exec.Command("go", "mod", "graph") //nolint:noctx // as long as it takes
	graph.Dir = root
	// It reads the go.mod of every module in the graph, also of those that a build here leaves alone.
	if out, err := graph.CombinedOutput(); err != nil {
		return fmt.Errorf("go mod graph: %w\n%s", err, out)
	}
	at := filepath.Join(dir, filepath.FromSlash(Module), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil { //nolint:gosec // like any module
		return err
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		"list": version + "\n", version + ".mod": string(mod),
		version + ".info": fmt.Sprintf(`{"Version": %q, "Time": "2026-01-01T00:00:00Z"}`, version),
	} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o644); err != nil { //nolint:gosec // like any module
			return err
		}
	}
	files, err := filesOf(root)
	if err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	return zip.Create(out, module.Version{Path: Module, Version: version}, files)
}

// file is a file of the module.
type file struct{ root, path string }

func (f file) Path() string                 { return f.path }
func (f file) Lstat() (os.FileInfo, error)  { return os.Lstat(filepath.Join(f.root, f.path)) }
func (f file) Open() (io.ReadCloser, error) { return os.Open(filepath.Join(f.root, f.path)) }

// filesOf returns the files of the module, without modules in it and what make build makes.
func filesOf(root string) ([]zip.File, error) {
	var files []zip.File
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		switch {
		case d.IsDir():
			_, none := os.Stat(filepath.Join(path, "go.mod"))
			if name == "bin" || name == "dist" || name == ".git" || none == nil {
				return fs.SkipDir
			}
		case d.Type().IsRegular() && name != ".git":
			files = append(files, file{root, name})
		}
		return nil
	})
	return files, err
}
