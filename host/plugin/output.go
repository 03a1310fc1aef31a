package plugin

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// maxLogLine bounds a line of a plugin's output, in bytes; the rest of a longer
// one is dropped.
const maxLogLine = 16 << 10

// readStderr logs the plugin's standard error and keeps its end.
func (p *process) readStderr(r io.Reader) {
	eachLine(bufio.NewReaderSize(r, maxLogLine), p.said)
}

// said takes one line of output.
func (p *process) said(line string) {
	p.stderr.add(sanitize.Line(line, tailLineBytes))
	level, msg := parseLog(line)
	p.log.Log(level, sanitize.Line(msg, 0))
}

// lineLogger takes what a plugin that was not built with pluginsdk prints after
// the handshake: go-plugin's server sends it over a stream of its own.
type lineLogger struct {
	p       *process
	partial []byte
}

// Write implements [io.Writer]. It is called by one goroutine at a time.
func (l *lineLogger) Write(b []byte) (int, error) {
	for line := range bytes.Lines(b) {
		l.partial = append(l.partial, line[:min(len(line), maxLogLine-min(maxLogLine, len(l.partial)))]...)
		if line[len(line)-1] != '\n' {
			continue
		}
		if s := strings.TrimRight(string(l.partial), "\r\n"); s != "" {
			l.p.said(s)
		}
		l.partial = l.partial[:0]
	}
	return len(b), nil
}

// eachLine calls f with each line, without its end, until reading fails. Lines
// longer than the reader's buffer are cut there.
func eachLine(r *bufio.Reader, f func(string)) {
	for {
		line, err := r.ReadSlice('\n')
		if s := strings.TrimRight(string(line), "\r\n"); s != "" {
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
