package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/trust"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/sanitize"
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

// findTrustable returns the file that commands find in a directory, or the file itself.
func findTrustable(at string) (string, error) {
	info, err := os.Stat(at)
	if err != nil || !info.IsDir() {
		return at, err
	}
	for _, name := range []string{session.DefaultConfig, pins.LockName} {
		path := filepath.Join(at, name)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return path, err
		}
	}
	return "", fmt.Errorf("there is no %s and no %s in %s: %w", session.DefaultConfig, pins.LockName, at, fs.ErrNotExist)
}

// readTrustable reads a file. A file with a problem cannot be trusted.
func readTrustable(at string) (trustable, error) {
	path, err := findTrustable(at)
	if err != nil {
		return trustable{}, exit.Usage(output.FirstLine(err.Error()), "name a directory or a file; toolhost config init makes one")
	}
	if path, err = trust.Place(path); err != nil {
		return trustable{}, err
	}
	if strings.HasSuffix(path, ".lock") {
		return readLock(path)
	}
	c, err := setup.Load(path)
	if err != nil {
		return trustable{}, exit.With(exit.BadUsage, err)
	}
	return trustable{path, c.Digest(), setup.Summary(c)}, nil
}

// readLock reads a lock. It takes the digest before and after, so that what is trusted is what
// was read.
func readLock(path string) (trustable, error) {
	digest, err := trust.Digest(path)
	if err != nil {
		return trustable{}, exit.With(exit.BadUsage, err)
	}
	l, err := lockfile.Read(path)
	if err != nil {
		return trustable{}, exit.With(exit.BadUsage, err)
	}
	if again, err := trust.Digest(path); err != nil || again != digest {
		return trustable{}, exit.With(exit.Failed, fmt.Errorf("%s changes while it is read: try again", sanitize.Text(path)))
	}
	return trustable{path, digest, []string{fmt.Sprintf("pins %d plugins: nothing else runs", len(l.Plugins))}}, nil
}
