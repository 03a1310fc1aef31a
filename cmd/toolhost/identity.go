package main

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
)

// identity is what makes this command do the same as another one.
func (a *app) identity(named pluginDirs) (control.Identity, error) {
	root, err := canonical(a.root)
	out := control.Identity{Root: root, PluginDirs: []string{}}
	for _, dir := range named.dirs {
		path, bad := canonical(dir)
		out.PluginDirs = append(out.PluginDirs, path)
		err = errors.Join(err, bad)
	}
	if c := a.configured(); c.File != "" {
		path, bad := canonical(c.File)
		out.Config, out.ConfigDigest = path, c.Digest()
		err = errors.Join(err, bad)
	}
	return out, err
}

// canonical is the one path of a file, whether it is there or not: a plugin directory
// may come back.
func canonical(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	resolved, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(path) == path {
		return resolved, err
	}
	parent, err := canonical(filepath.Dir(path))
	return filepath.Join(parent, filepath.Base(path)), err
}
