// Package terminal asks the person at the terminal. Begin with [Open].
package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Terminal is where a person reads and types; it need not be standard input.
type Terminal interface {
	io.ReadWriteCloser
	// Discard drops what was typed and not read. It fails if the terminal was closed.
	Discard() error
	// Foreground reports whether the process may read from the terminal. The system stops one in
	// the background that tries.
	Foreground() bool
}

// ErrClosed is the error of a question whose terminal was closed before it was answered.
var ErrClosed = errors.New("the terminal was closed before there was an answer")

// Confirm shows a text, asks the question, and reports whether the answer is a clear yes.
func Confirm(ctx context.Context, t Terminal, shown, question string) (yes bool, err error) {
	answer, err := Prompt(ctx, t, shown, question)
	return err == nil && Yes(answer), err
}

// Yes reports whether an answer is a clear yes.
func Yes(answer string) bool {
	switch strings.ToLower(answer) {
	case "y", "yes":
		return true
	}
	return false
}

// Prompt shows a text, asks the question, and returns the answer, without the space around it. It
// discards what was typed before the question: the person had not read it.
//
// # Errors
//
// [ErrClosed]; [tool.CodeCanceled] if ctx ends first; plain ones of the terminal.
func Prompt(ctx context.Context, t Terminal, shown, question string) (string, error) {
	if _, err := io.WriteString(t, shown); err != nil {
		return "", err
	}
	if err := t.Discard(); err != nil {
		return "", fmt.Errorf("input typed before the question cannot be discarded: %w", err)
	}
	if _, err := io.WriteString(t, question); err != nil {
		return "", err
	}
	answer, err := Await(ctx, func() (string, error) {
		line, err := bufio.NewReader(io.LimitReader(t, 1<<10)).ReadString('\n')
		switch {
		case err == nil:
			return line, nil
		case t.Discard() != nil: // the end of the input was not typed
			return "", ErrClosed
		case errors.Is(err, io.EOF):
			return line, nil
		}
		return "", err
	})
	return strings.TrimSpace(answer), err
}

// Await runs read, which waits for input, until it returns or ctx ends. Not every system can
// interrupt a read from a terminal or a pipe: if ctx ends first, read goes on until the
// process ends.
func Await[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		v, err := read()
		done <- answer{v, err}
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
		var zero T
		return zero, tool.Errorf(tool.CodeCanceled, "ended while waiting for input: %w", context.Cause(ctx))
	}
}
