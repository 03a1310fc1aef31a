package scaffold

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/toolhost/toolhost/host"
)

// Path is the module of the SDK.
const Path = "github.com/toolhost/toolhost"

// Module is the module of the SDK that a Go plugin is built with.
type Module struct {
	// Version is the version that the plugin requires.
	Version string `json:"version"`
	// Dir is a source tree that takes the place of that version; empty: the version is published.
	Dir string `json:"dir,omitempty"`
}

// ErrNoModule reports that it is not known which SDK a plugin is to be built with.
var ErrNoModule = errors.New("this toolhost was built from a source tree that is not known, so there is no published version of the SDK to require")

// FindModule returns the module that this program was built from: the published version, or the
// source tree in whose bin directory the program lies.
//
// # Errors
//
// [ErrNoModule].
func FindModule(info *debug.BuildInfo, program string) (Module, error) {
	if v := info.Main.Version; isRelease(v) || info.Main.Sum != "" && semver.IsValid(v) {
		return Module{Version: v}, nil
	}
	program, err := filepath.EvalSymlinks(program)
	if err != nil || filepath.Base(filepath.Dir(program)) != "bin" {
		return Module{}, ErrNoModule
	}
	m, err := ModuleIn(filepath.Dir(filepath.Dir(program)))
	if err != nil {
		return Module{}, ErrNoModule
	}
	return m, nil
}

// isRelease reports whether a version is one that was tagged and built without changes.
func isRelease(v string) bool {
	return semver.IsValid(v) && semver.Build(v) == "" && !module.IsPseudoVersion(v)
}

// ParseModule returns what an author names: a version of the SDK, such as v0.1.0, or the
// directory of its source tree.
//
// # Errors
//
// A plain error that says what is at the directory.
func ParseModule(s string) (Module, error) {
	if semver.IsValid(s) && semver.Canonical(s) == s {
		return Module{Version: s}, nil
	}
	return ModuleIn(s)
}

// ModuleIn returns the module in a source tree.
//
// # Errors
//
// A plain error that says what is there instead.
func ModuleIn(dir string) (Module, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Module{}, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return Module{}, err
	}
	if found := modfile.ModulePath(text); found != Path {
		return Module{}, fmt.Errorf("%s has the module %q, not %s", dir, found, Path)
	}
	return Module{Version: "v" + host.Version, Dir: dir}, nil
}
