package main

import (
	"errors"
	"io"
	"os"

	"github.com/toolhost/toolhost/internal/test/escape"
)

// scratch is a new directory of the probe's own, wherever it can have one.
func scratch(w *escape.World) (string, error) {
	var all error
	for _, dir := range []string{os.TempDir(), "/tmp", w.Workspace} {
		made, err := os.MkdirTemp(dir, "probe-")
		if err == nil {
			return made, nil
		}
		all = errors.Join(all, err)
	}
	return "", all
}

// inScratch runs an attempt that needs a directory, and removes it.
func inScratch(f func(*escape.World, string) escape.Answer) func(*escape.World) escape.Answer {
	return func(w *escape.World) escape.Answer {
		dir, err := scratch(w)
		if err != nil {
			return inconclusive("no directory can be made: %v", err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		return f(w, dir)
	}
}

// copyProgram copies a program into a directory.
func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700) //nolint:gosec // a program
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
