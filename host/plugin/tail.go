package plugin

import (
	"strings"
	"sync"
)

// The end of a plugin's standard error that is kept for error messages.
const (
	tailLines     = 20
	tailLineBytes = 400
)

// tail keeps the last lines of a stream, sanitised already.
type tail struct {
	mu    sync.Mutex
	lines [tailLines]string
	next  int
	why   string
}

func (t *tail) add(line string) {
	t.mu.Lock()
	t.lines[t.next%tailLines] = line
	t.next++
	if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
		t.why = line
	}
	t.mu.Unlock()
}

// String is the lines, oldest first.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for i := max(0, t.next-tailLines); i < t.next; i++ {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(t.lines[i%tailLines])
	}
	return b.String()
}

// last is the newest line; empty: there is none.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next == 0 {
		return ""
	}
	return t.lines[(t.next-1)%tailLines]
}

// cause is the line with which a Go program, or a runtime much like it, began its
// last words; empty: there was none. The trace that follows may be longer than
// the tail.
func (t *tail) cause() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.why
}
