package terminal

import (
	"context"
	"errors"
	"io"

	"golang.org/x/term"
)

// Password asks at the terminal for a text that is not shown while it is typed.
//
// # Errors
//
// Those of [Open]; [tool.CodeCanceled] if ctx ends first; plain ones of the terminal.
func Password(ctx context.Context, question string) (string, error) {
	t, err := Open()
	if err != nil {
		return "", err
	}
	defer func() { _ = t.Close() }()
	f, ok := t.(interface{ Fd() uintptr })
	if !ok {
		return "", errors.ErrUnsupported
	}
	fd := int(f.Fd()) //nolint:gosec // a descriptor
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	defer func() { _ = term.Restore(fd, before) }() // if ctx ends, the echo is off
	if _, err := io.WriteString(t, question); err != nil {
		return "", err
	}
	word, err := Await(ctx, func() ([]byte, error) { return term.ReadPassword(fd) })
	_, _ = io.WriteString(t, "\n")
	return string(word), err
}
