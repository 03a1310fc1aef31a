package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// maxLine bounds a handshake line, in bytes.
const maxLine = 4 << 10

// greet waits for the handshake line: the first line that begins as one does, so that what was
// printed before it is known.
func (p *process) greet(ctx context.Context) error {
	for {
		first, more := p.stdout.look()
		at := 0
		for line := range bytes.Lines(first) {
			whole := bytes.HasSuffix(line, []byte("\n"))
			if fields := strings.Split(strings.TrimRight(string(line), "\r\n"), "|"); whole && isGreeting(fields) {
				if len(line) > maxLine {
					return fmt.Errorf("the handshake line has %d bytes, more than %d", len(line), maxLine)
				}
				p.line, p.before = fields, string(first[:at])
				return nil
			}
			at += len(line)
		}
		if more == nil {
			if p.ends(ctx, endGrace) {
				return fmt.Errorf("it printed %s and no handshake line: %s", printed(first), p.ending())
			}
			return fmt.Errorf("it printed %s and no handshake line, and goes on", printed(first))
		}
		if err := p.await(ctx, more); err != nil {
			first, _ = p.stdout.look()
			return fmt.Errorf("it printed %s and no handshake line: %w", printed(first), err)
		}
	}
}

func printed(b []byte) string {
	if len(b) == 0 {
		return "nothing"
	}
	return sanitize.Quote(string(b[:min(len(b), 200)]), 100)
}

// isGreeting reports whether a line is meant as a handshake: it begins with two numbers, or at
// least has its four bars.
func isGreeting(fields []string) bool {
	number := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	return len(fields) > 2 && number(fields[0]) && number(fields[1]) || len(fields) >= 5
}

// field returns a field of the handshake line; empty: it has not so many.
func (p *process) field(i int) string {
	if i < len(p.line) {
		return p.line[i]
	}
	return ""
}

// later returns what was printed to standard output after the handshake line.
func (p *process) later() (bytes int64, beginning string) {
	p.stdout.mu.Lock()
	defer p.stdout.mu.Unlock()
	own := len(p.before) + len(strings.Join(p.line, "|")) + 1
	if p.line == nil || p.stdout.bytes <= int64(own) {
		return 0, ""
	}
	return p.stdout.bytes - int64(own), string(p.stdout.first[min(own, len(p.stdout.first)):])
}

// socketPath returns the path of the socket that the plugin announces, which lies in its directory.
func (p *process) socketPath() (string, error) {
	address := p.field(3)
	if filepath.Dir(filepath.Clean(address)) != p.dir {
		return "", fmt.Errorf("it announces the socket %s, which does not lie in the directory that PLUGIN_UNIX_SOCKET_DIR names",
			sanitize.Quote(address, 120))
	}
	info, err := os.Lstat(address)
	if err != nil {
		return "", fmt.Errorf("it announces the socket %s, which cannot be found: %w", sanitize.Quote(address, 120), errors.Unwrap(err))
	}
	if info.Mode().Type() != os.ModeSocket {
		return "", fmt.Errorf("it announces %s, which is not a socket but %s", sanitize.Quote(address, 120), info.Mode())
	}
	return address, nil
}
