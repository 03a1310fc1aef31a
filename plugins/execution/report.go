package main

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
)

// openReport opens a file that a program wrote, or put something else in place of.
func openReport(dir *os.Root, name string) (*os.File, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // a pipe would block
		return nil, errors.New("it is no regular file")
	}
	return dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have become one
}

func readCrash(dir *os.Root) string {
	f, err := openReport(dir, crashFile)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	text, _ := io.ReadAll(io.LimitReader(f, maxStack*4))
	return string(text)
}

// crash is how a program ended that the Go runtime ended.
type crash struct{ message, stack string }

// crashOf reads what the runtime printed: stacks to a file of their own, and, where
// that could not be, as before the package's first variables are set, or for the
// line that names a fatal error, to standard error. ok is false where it printed
// nothing.
func crashOf(told, stderr string) (c crash, ok bool) {
	said := "\n" + stderr
	at := max(strings.LastIndex(said, "\npanic: "), strings.LastIndex(said, "\nfatal error: "))
	if at >= 0 {
		said = said[at+1:]
	} else {
		said = ""
	}
	text := told
	if text == "" {
		text = said
	}
	if text == "" {
		return c, false
	}
	if !strings.HasPrefix(text, "panic: ") && !strings.HasPrefix(text, "fatal error: ") {
		first, _, _ := strings.Cut(said, "\n")
		text = first + "\n\n" + strings.TrimLeft(text, "\n")
	}
	c.message = text
	if at := strings.Index(text, "\n\n"); at >= 0 {
		c.message, c.stack = text[:at], strings.TrimSpace(text[at:])
	}
	if c.message == "" {
		c.message = "the program crashed"
	}
	return c, true
}
