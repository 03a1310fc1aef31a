package pluginrun

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// The end of a plugin's standard error that is kept for error messages.
const (
	tailLines     = 20
	tailLineBytes = 400
)

// tail keeps the last lines of a stream as they are, which costs little, and escapes them when
// they are read, which is rare.
type tail struct {
	mu    sync.Mutex
	lines [tailLines][]byte
	next  int
	why   []byte
	begun chan struct{} // closed when there is a line
}

func (t *tail) add(line []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	copyStart(&t.lines[t.next%tailLines], line)
	if t.next == 0 && t.begun != nil {
		close(t.begun)
	}
	t.next++
	if slices.ContainsFunc(causes, func(c []byte) bool { return bytes.HasPrefix(line, c) }) {
		copyStart(&t.why, line)
	}
}

// causes are how the line begins with which the Go runtime says why it ends a program.
var causes = [][]byte{[]byte("panic: "), []byte("fatal error: "), []byte(noThread)}

const noThread = "runtime/cgo: pthread_create failed"

// copyStart copies what will be shown of a line, and enough to see that there was more.
func copyStart(to *[]byte, line []byte) {
	*to = append((*to)[:0], line[:min(len(line), tailLineBytes+utf8.UTFMax)]...)
}

func shown(line []byte) string { return sanitize.Line(string(line), tailLineBytes) }

// String returns the lines, oldest first.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for i := max(0, t.next-tailLines); i < t.next; i++ {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(shown(t.lines[i%tailLines]))
	}
	return b.String()
}

// last returns the newest line; empty: there is none.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next == 0 {
		return ""
	}
	return shown(t.lines[(t.next-1)%tailLines])
}

// cause returns the line with which the trace of a panic or a fatal error of a Go program
// began; empty: there was none. The trace itself may be longer than the tail.
func (t *tail) cause() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return shown(t.why)
}
