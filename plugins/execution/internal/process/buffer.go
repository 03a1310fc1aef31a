package process

import (
	"fmt"
	"strings"
	"sync"
)

// Buffer keeps the beginning and the end of what is written to it and counts the
// bytes in between, so that a flood takes no memory. Make one with [NewBuffer].
type Buffer struct {
	limit int

	mu   sync.Mutex
	head []byte
	tail []byte // at most twice as long as what is kept of it
	lost int64
}

// NewBuffer returns a buffer that keeps at most limit bytes.
func NewBuffer(limit int) *Buffer { return &Buffer{limit: limit} }

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, end := len(p), b.limit/4
	room := min(n, b.limit-end-len(b.head))
	b.head, p = append(b.head, p[:room]...), p[room:]
	if excess := len(p) - end; excess > 0 {
		b.lost += int64(excess)
		p = p[excess:]
	}
	b.tail = append(b.tail, p...)
	if len(b.tail) > 2*end {
		b.trim()
	}
	return n, nil
}

// trim shortens the tail to what is kept of it.
func (b *Buffer) trim() {
	if excess := len(b.tail) - b.limit/4; excess > 0 {
		b.lost += int64(excess)
		b.tail = append(b.tail[:0], b.tail[excess:]...)
	}
}

// String returns what was kept, as valid UTF-8, with a note if bytes are missing.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trim()
	text := string(b.head)
	if b.lost > 0 {
		text += fmt.Sprintf("\n[... %d bytes truncated ...]\n", b.lost)
	}
	return strings.ToValidUTF8(text+string(b.tail), "\uFFFD")
}
