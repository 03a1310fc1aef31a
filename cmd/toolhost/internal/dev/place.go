package dev

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// place is the private directory of one run: what was built, and what is served of it.
type place struct {
	root *os.Root
	path string
	sum  []byte // of what is served; nil: nothing is
}

const (
	servedName  = "plugins"
	scratchName = "build"
	socketName  = "control.sock"
)

// sweepTime bounds the look for what runs and debugged plugins left that were killed.
const sweepTime = 5 * time.Second

func newPlace(ctx context.Context) (*place, error) {
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	confine.Sweep(ctx, os.TempDir())
	path, err := os.MkdirTemp("", confine.DirPrefix+"dev-") // for this user alone
	if err != nil {
		return nil, fmt.Errorf("there is no place to build in: %w", err)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	p := &place{root: root, path: path}
	if err := confine.Claim(path); err != nil {
		return nil, errors.Join(err, p.remove())
	}
	for _, name := range []string{servedName, scratchName} {
		if err := root.Mkdir(name, 0o700); err != nil {
			return nil, errors.Join(err, p.remove())
		}
	}
	return p, nil
}

func (p *place) served() string  { return filepath.Join(p.path, servedName) }
func (p *place) scratch() string { return filepath.Join(p.path, scratchName) }
func (p *place) socket() string  { return filepath.Join(p.path, socketName) }

// remove removes what this run has made.
func (p *place) remove() error {
	errs := []error{p.root.RemoveAll(servedName), p.root.RemoveAll(scratchName), p.root.Close()}
	return errors.Join(append(errs, os.RemoveAll(p.path))...)
}

// maxBinary bounds what is served.
const maxBinary = 4 << 30

// put serves a file that was built in place of what is served, in one step. It reports whether that
// is other than what is served.
func (p *place) put(built, name string) (changed bool, err error) {
	f, err := os.Open(built)
	if err != nil {
		return false, fmt.Errorf("what was built cannot be read: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%s, which was built, is not a regular file", sanitize.Text(built))
	case info.Size() > maxBinary:
		return false, fmt.Errorf("%s, which was built, has more than %d GiB", sanitize.Text(built), maxBinary>>30)
	}
	temp := filepath.Join(servedName, ".new")
	to, err := p.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o700) //nolint:gosec // a program
	if err != nil {
		return false, err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(to, sum), io.LimitReader(f, maxBinary))
	if err := errors.Join(err, to.Close()); err != nil {
		return false, fmt.Errorf("what was built cannot be copied: %w", err)
	}
	now := sum.Sum(nil)
	if bytes.Equal(now, p.sum) {
		return false, p.root.Remove(temp)
	}
	if err := p.root.Rename(temp, filepath.Join(servedName, name)); err != nil {
		return false, err
	}
	p.sum = now
	return true, nil
}
