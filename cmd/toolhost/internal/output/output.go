// Package output prints for people and for programs: text that cannot change the terminal,
// tables, JSON, errors and warnings. Begin with [New].
package output

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Writer is a stream that people or programs read. It keeps the first error, so that callers
// need not check each line.
type Writer struct {
	w        io.Writer
	err      error
	terminal bool
	width    int  // of the terminal, in columns; 0: no limit
	printed  bool // a whole JSON text was printed
	lines    bool // a JSON text was printed as one of several lines
	streamed streamed

	mu     sync.Mutex // logs write whenever they like
	status bool       // the last line is one of [Writer.Status]
}

// New returns a writer to w, which may be a terminal.
func New(w io.Writer) *Writer {
	o := &Writer{w: w}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		o.terminal = true
		o.width, _, _ = term.GetSize(int(f.Fd()))
	}
	return o
}

// Err returns the first error of writing.
func (o *Writer) Err() error { return o.err }

// Terminal reports whether the writer writes to a terminal.
func (o *Writer) Terminal() bool { return o.terminal }

// Write implements [io.Writer].
func (o *Writer) Write(b []byte) (int, error) {
	defer o.begin()()
	return o.keepError(o.w.Write(b))
}

// WriteString implements [io.StringWriter], which saves a copy of the text.
func (o *Writer) WriteString(s string) (int, error) {
	defer o.begin()()
	return o.keepError(io.WriteString(o.w, s))
}

// begin begins to write where no status is, and returns what ends that.
func (o *Writer) begin() (end func()) {
	o.mu.Lock()
	if o.status {
		o.status = false
		_, _ = io.WriteString(o.w, clearLine)
	}
	return o.mu.Unlock
}

func (o *Writer) keepError(n int, err error) (int, error) {
	if err != nil && o.err == nil {
		o.err = fmt.Errorf("the output could not be written: %w", err)
	}
	return n, err
}

// Printf formats and prints. Text that others wrote has to be sanitized before.
func (o *Writer) Printf(format string, args ...any) { _, _ = fmt.Fprintf(o, format, args...) }

// Text prints what others wrote, without anything that changes a terminal.
func (o *Writer) Text(s string) { _ = sanitize.WriteText(o, s) }

// Colored returns text between terminal codes, if the terminal and the user want color.
func (o *Writer) Colored(code, text string) string {
	if !o.terminal || !ColorWelcome() {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// ColorWelcome reports whether the user wants color on terminals (https://no-color.org).
func ColorWelcome() bool { return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" }

// Error prints what happened and what to do next; for a plugin that ended, also the end of
// its standard error.
func (o *Writer) Error(err error) {
	e := tool.AsError(err)
	o.Printf("toolhost: ")
	o.Text(Message(err)) // it may be all that a tool answered
	o.Printf("\n")
	o.hint(e)
	if e.Code == tool.CodeCrashed || e.Code == tool.CodeUnavailable {
		o.LastWords(e.Detail)
	}
}

// Warning prints a problem that does not keep the rest from working; if detailed, with its
// evidence.
func (o *Writer) Warning(e *tool.Error, detailed bool) {
	o.Printf("warning: %s\n", sanitize.Text(Message(e)))
	o.hint(e)
	if detailed {
		o.LastWords(e.Detail)
	}
}

func (o *Writer) hint(e *tool.Error) {
	if advice := adviceOf(e); advice != "" {
		o.Printf("  %s\n", sanitize.Text(advice))
	}
	if wait := time.Duration(e.RetryAfter).Round(time.Second); e.Advice() == "" && wait > 0 { // advice says it
		o.Printf("  try again in %s\n", wait)
	}
}

// LastWords prints the end of a plugin's standard error.
func (o *Writer) LastWords(detail string) {
	if detail == "" {
		return
	}
	o.Printf("  its last words:\n")
	for line := range strings.Lines(detail) {
		o.Printf("    %s\n", sanitize.Text(strings.TrimRight(line, "\r\n")))
	}
}

// Message returns the text of an error without its hint, which is printed on a line of its own.
func Message(err error) string {
	if advice := tool.AsError(err).Advice(); advice != "" {
		return strings.Replace(err.Error(), " ("+advice+")", "", 1)
	}
	return err.Error()
}
