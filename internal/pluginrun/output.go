package pluginrun

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// maxLogLine bounds a line of a plugin's output, in bytes; the rest of a longer
// one is dropped.
const maxLogLine = 16 << 10

// recordCost is what a record on the stream costs in addition to its text, in bytes.
const recordCost = 64

// output is what one run of a plugin writes: its handshake, its log, and the rest.
type output struct {
	log     hclog.Logger
	refuse  func(reason error)
	stderr  tail             // the end of what it wrote to standard error
	journal *journal.Journal // nil: none
	pid     func() int
	limit   *outputLimit // bounds what is read and logged
	records *throttle    // on its stream

	printing  sync.Once      // the first line on standard output besides the handshake
	handshake *io.PipeWriter // what go-plugin reads as standard output
	forGo     *io.PipeReader
}

func newOutput(log hclog.Logger, refuse func(reason error)) *output {
	o := &output{log: log, refuse: refuse, limit: newOutputLimit(log)}
	o.stderr.begun = make(chan struct{})
	o.records = o.limit.throttle()
	o.forGo, o.handshake = io.Pipe()
	return o
}

var errClosedEarly = errors.New("the plugin closed its standard output before the handshake")

// What a plugin may print to standard output before its handshake.
const (
	maxPrinted      = 64 << 10 // bytes
	maxPrintedLines = 64
)

// readStdout passes on the handshake, and takes all else for lines of the log: what libraries and
// programs print that know nothing of the handshake.
func (o *output) readStdout(r io.Reader) {
	in := bufio.NewReaderSize(slowReader{r, o.limit.throttle()}, maxPrinted)
	if err := o.shake(in); err != nil {
		o.refuse(err)
	}
	o.closeHandshake()
	eachLine(bufio.NewReaderSize(in, maxLogLine), o.printed)
}

// shake looks for the handshake.
func (o *output) shake(in *bufio.Reader) error {
	last, size := "", 0
	for range maxPrintedLines + 1 {
		line, err := in.ReadSlice('\n')
		if size += len(line); size > maxPrinted || errors.Is(err, bufio.ErrBufferFull) {
			break
		}
		before, handshake, ok := cutHandshake(string(line))
		if s := strings.TrimRight(before, "\r\n"); s != "" {
			last = s
			o.printed([]byte(s))
		}
		switch {
		case ok:
			checked, err := checkHandshake(handshake)
			if err == nil {
				_, _ = io.WriteString(o.handshake, checked)
			}
			return err
		case err != nil && last == "":
			return errClosedEarly
		case err != nil:
			return fmt.Errorf("the plugin printed %s to standard output before its handshake, which did not follow "+
				"(use standard error for logs)", sanitize.Quote(last, 120))
		}
	}
	return fmt.Errorf("the plugin printed more than %d lines or %d KiB to standard output before its handshake "+
		"(use standard error for logs)", maxPrintedLines, maxPrinted>>10)
}

// printed logs a line of standard output, and says once that it does not belong there.
func (o *output) printed(line []byte) {
	o.printing.Do(func() {
		const hint = "the plugin prints to standard output, which is for its handshake; print to standard error, or log"
		o.journal.Tell(hclog.Warn.String(), journal.Note, hint)
		o.log.Warn(hint)
	})
	o.logLine(line)
}

// closeHandshake ends what go-plugin reads as standard output.
func (o *output) closeHandshake() { _ = o.handshake.Close() }

// readStderr logs the plugin's standard error and keeps its end.
func (o *output) readStderr(r io.Reader) {
	eachLine(bufio.NewReaderSize(slowReader{r, o.limit.throttle()}, maxLogLine), o.logLine)
}

// logLine logs a line of output.
func (o *output) logLine(line []byte) {
	o.stderr.add(line)
	if o.limit.admit() {
		level, msg := parseLog(string(line))
		o.keep(level, msg, "")
		o.log.Log(level, sanitize.Line(msg, 0))
	}
}

// pace admits what the plugin sends on its stream besides answers. A flood of it holds up
// the stream, which is the plugin's own.
func (o *output) pace(bytes int) { o.records.pass(bytes + recordCost) }

// logRecord logs a line that the plugin sent on its stream.
func (o *output) logRecord(level, message, call, trace string) {
	o.stderr.add([]byte(message[:min(len(message), maxLogLine)]))
	if !o.limit.admit() {
		return
	}
	line := sanitize.Line(message, maxLogLine)
	o.keep(hclog.LevelFromString(level), line, call)
	var of []any
	if call != "" {
		of = append(of, "call", call)
	}
	if trace != "" {
		of = append(of, "trace", trace)
	}
	o.log.Log(hclog.LevelFromString(level), line, of...)
}

// keep adds a line to the journal.
func (o *output) keep(level hclog.Level, text, call string) {
	if o.journal != nil {
		o.journal.Add(journal.Entry{PID: o.pid(), Level: level.String(), Text: text, Call: call})
	}
}

// lineLogger logs what a plugin that was not built with pluginsdk prints after the
// handshake: go-plugin's server sends it over a stream of its own.
type lineLogger struct {
	output   *output
	throttle *throttle
	partial  []byte
}

func newLineLogger(o *output) *lineLogger {
	return &lineLogger{output: o, throttle: o.limit.throttle()}
}

// Write implements [io.Writer]. It is called by one goroutine at a time, the one
// that receives from the stream: while it waits here, the stream's window fills,
// and then what the plugin prints to waits for the host.
func (l *lineLogger) Write(b []byte) (int, error) {
	l.throttle.pass(len(b))
	for line := range bytes.Lines(b) {
		l.partial = append(l.partial, line[:min(len(line), maxLogLine-min(maxLogLine, len(l.partial)))]...)
		if line[len(line)-1] != '\n' {
			continue
		}
		if s := bytes.TrimRight(l.partial, "\r\n"); len(s) > 0 {
			l.output.logLine(s)
		}
		l.partial = l.partial[:0]
	}
	return len(b), nil
}

// eachLine calls f with each line, without its end, until reading fails. Lines
// longer than the reader's buffer are cut there. f must not keep the line.
func eachLine(r *bufio.Reader, f func([]byte)) {
	for {
		line, err := r.ReadSlice('\n')
		if s := bytes.TrimRight(line, "\r\n"); len(s) > 0 {
			f(s)
		}
		for err == bufio.ErrBufferFull { //nolint:errorlint // ReadSlice returns it as it is
			_, err = r.ReadSlice('\n')
		}
		if err != nil {
			return
		}
	}
}
