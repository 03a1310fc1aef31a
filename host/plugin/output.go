package plugin

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// maxLogLine bounds a line of a plugin's output, in bytes; the rest of a longer
// one is dropped.
const maxLogLine = 16 << 10

// recordCost is what a record on the stream costs beside its text, in bytes.
const recordCost = 64

// readStderr logs the plugin's standard error and keeps its end.
func (p *process) readStderr(r io.Reader) {
	eachLine(bufio.NewReaderSize(slowReader{r, p.output.valve()}, maxLogLine), p.said)
}

// said takes one line of output.
func (p *process) said(line []byte) {
	p.stderr.add(line)
	if p.output.admit() {
		level, msg := parseLog(string(line))
		p.log.Log(level, sanitize.Line(msg, 0))
	}
}

// pace takes what the plugin sends on its stream beside answers. A flood of it holds
// up the stream, which is the plugin's own.
func (p *process) pace(bytes int) { p.records.pass(bytes + recordCost) }

// logRecord takes a line that the plugin sent on its stream.
func (p *process) logRecord(level slog.Level, message, call string) {
	p.stderr.add([]byte(message[:min(len(message), maxLogLine)]))
	if !p.output.admit() {
		return
	}
	line := sanitize.Line(message, maxLogLine)
	if call == "" {
		p.log.Log(hclogLevel(level), line)
		return
	}
	p.log.Log(hclogLevel(level), line, "call", call)
}

func hclogLevel(l slog.Level) hclog.Level {
	switch {
	case l < slog.LevelDebug:
		return hclog.Trace
	case l < slog.LevelInfo:
		return hclog.Debug
	case l < slog.LevelWarn:
		return hclog.Info
	case l < slog.LevelError:
		return hclog.Warn
	}
	return hclog.Error
}

// lineLogger takes what a plugin that was not built with pluginsdk prints after
// the handshake: go-plugin's server sends it over a stream of its own.
type lineLogger struct {
	p       *process
	valve   *valve
	partial []byte
}

func newLineLogger(p *process) *lineLogger { return &lineLogger{p: p, valve: p.output.valve()} }

// Write implements [io.Writer]. It is called by one goroutine at a time, the one
// that receives from the stream: while it waits here, the stream's window fills,
// and then what the plugin prints to waits for the host.
func (l *lineLogger) Write(b []byte) (int, error) {
	l.valve.pass(len(b))
	for line := range bytes.Lines(b) {
		l.partial = append(l.partial, line[:min(len(line), maxLogLine-min(maxLogLine, len(l.partial)))]...)
		if line[len(line)-1] != '\n' {
			continue
		}
		if s := bytes.TrimRight(l.partial, "\r\n"); len(s) > 0 {
			l.p.said(s)
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

// parseLog finds level and message of a line in hclog's JSON format. Any other
// line, wrong types included, is a message as it stands.
func parseLog(line string) (hclog.Level, string) {
	if !strings.HasPrefix(line, "{") {
		return hclog.Info, line
	}
	var entry struct {
		Level   string `json:"@level"`
		Message string `json:"@message"`
	}
	if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Message == "" {
		return hclog.Info, line
	}
	if level := hclog.LevelFromString(entry.Level); level != hclog.NoLevel {
		return level, entry.Message
	}
	return hclog.Info, entry.Message
}
