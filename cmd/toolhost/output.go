package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// output is a stream that people or programs read. It keeps the first error, so
// that printing needs no check at each line.
type output struct {
	w        io.Writer
	err      error
	terminal bool
	width    int // of the terminal, in columns; 0: no limit
}

func newOutput(w io.Writer) *output {
	o := &output{w: w}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		o.terminal = true
		o.width, _, _ = term.GetSize(int(f.Fd()))
	}
	return o
}

// Write implements [io.Writer].
func (o *output) Write(b []byte) (int, error) { return o.note(o.w.Write(b)) }

// WriteString implements [io.StringWriter]: a text need not be copied.
func (o *output) WriteString(s string) (int, error) { return o.note(io.WriteString(o.w, s)) }

func (o *output) note(n int, err error) (int, error) {
	if err != nil && o.err == nil {
		o.err = fmt.Errorf("the output could not be written: %w", err)
	}
	return n, err
}

func (o *output) printf(format string, args ...any) { _, _ = fmt.Fprintf(o, format, args...) }

// text prints what others wrote, with nothing in it that changes a terminal.
func (o *output) text(s string) { _ = sanitize.WriteText(o, s) }

// colored puts text between terminal codes, where that is welcome
// (https://no-color.org).
func (o *output) colored(code, text string) string {
	if !o.terminal || !colorWelcome() {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// printError says what happened and what to do next, and for a plugin that
// ended, what it said last.
func (a *app) printError(err error) {
	e := tool.AsError(err)
	a.err.printf("toolhost: ")
	a.err.text(message(err, e)) // which may be all that a tool answered
	a.err.printf("\n")
	a.printHint(e)
	if e.Code == tool.CodeCrashed || e.Code == tool.CodeUnavailable {
		a.err.lastWords(e.Detail)
	}
}

// warn tells of something that does not keep the rest from working.
func (a *app) warn(e *tool.Error) {
	a.err.printf("warning: %s\n", sanitize.Text(message(e, e)))
	a.printHint(e)
	if a.detailed() {
		a.err.lastWords(e.Detail)
	}
}

// notef tells by whom the work is done, for those who do not want to hear nothing.
func (a *app) notef(format string, args ...any) {
	if a.logLevel != "off" {
		a.err.printf("toolhost: %s\n", sanitize.Line(fmt.Sprintf(format, args...), 0))
	}
}

func (a *app) printHint(e *tool.Error) {
	if e.Hint != "" {
		a.err.printf("  %s\n", sanitize.Text(e.Hint))
	}
}

// lastWords prints the end of a plugin's standard error.
func (o *output) lastWords(detail string) {
	if detail == "" {
		return
	}
	o.printf("  its last words:\n")
	for line := range strings.Lines(detail) {
		o.printf("    %s\n", sanitize.Text(strings.TrimRight(line, "\r\n")))
	}
}

// message is the error without its hint, which stands on a line of its own.
func message(err error, e *tool.Error) string {
	if e.Hint == "" {
		return err.Error()
	}
	return strings.Replace(err.Error(), " ("+e.Hint+")", "", 1)
}
