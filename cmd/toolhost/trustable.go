package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/servers"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/trust"
)

// trustable is a file that may be trusted: the digest of its content, and what that grants.
type trustable struct {
	path, digest string
	grants       []string
}

// String shows what the file grants, for a person.
func (f trustable) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (sha256 %.12s):\n", sanitize.Text(f.path), f.digest)
	for _, line := range f.grants {
		fmt.Fprintf(&b, "  %s\n", sanitize.Line(line, 1000))
	}
	return b.String()
}

// findTrustable returns the files that commands find in a directory, or the file itself.
func findTrustable(at string) (paths []string, err error) {
	info, err := os.Stat(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", at, fs.ErrNotExist)
	}
	if err != nil || !info.IsDir() {
		return []string{at}, err
	}
	for _, name := range []string{session.DefaultConfig, pins.LockName} {
		path := filepath.Join(at, name)
		switch _, err := os.Lstat(path); {
		case err == nil:
			paths = append(paths, path)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	if len(paths) > 0 {
		return paths, nil
	}
	return nil, fmt.Errorf("there is no %s and no %s in %s: %w", session.DefaultConfig, pins.LockName, at, fs.ErrNotExist)
}

// readTrustables reads the files of a directory, or a file.
func readTrustables(at string) (all []trustable, err error) {
	paths, err := findTrustable(at)
	if err != nil {
		return nil, exit.Usage(output.FirstLine(err.Error()), "name a directory or a file; toolhost config init makes one")
	}
	for _, path := range paths {
		one, err := readTrustable(path)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// readTrustable reads a file. A file with a problem cannot be trusted.
func readTrustable(path string) (trustable, error) {
	path, err := trust.Place(path)
	if err != nil {
		return trustable{}, err
	}
	switch filepath.Ext(path) {
	case ".lock":
		return readLock(path)
	case ".json":
		return readServers(path)
	}
	c, err := setup.Load(path)
	if err != nil {
		return trustable{}, exit.With(exit.BadUsage, err)
	}
	return trustable{path, c.Digest(), setup.Summary(c)}, nil
}

// readLock reads a lock.
func readLock(path string) (trustable, error) {
	l, digest, err := lockfile.ReadSum(path)
	if err != nil {
		return trustable{}, exit.With(exit.BadUsage, err)
	}
	out := trustable{path, digest, []string{fmt.Sprintf("pins %d plugins: nothing else runs", len(l.Plugins))}}
	for _, name := range l.Names() {
		switch needs, pinned := l.Needs(name); {
		case pinned && needs == nil:
			out.grants = append(out.grants, "gives "+name+" everything that its user has: it declares no needs")
		case pinned:
			out.grants = append(out.grants, "gives "+name+": "+needs.String())
		}
	}
	return out, nil
}

// readServers reads a file of MCP servers.
func readServers(path string) (trustable, error) {
	content, err := servers.Read(path)
	if err != nil {
		return trustable{}, exit.With(exit.BadUsage, err)
	}
	file, err := servers.Parse(content, func(string) config.Server { return config.Default().NewServer() })
	if err != nil {
		return trustable{}, exit.With(exit.BadUsage, err)
	}
	out := trustable{path: path, digest: content.Digest()}
	for _, e := range file.Entries {
		out.grants = append(out.grants, setup.SummaryOfServer(e.Name, e.Server)...)
	}
	return out, nil
}
