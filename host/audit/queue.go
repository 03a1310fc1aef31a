package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Bounds of what waits in memory while another process keeps the log locked.
const (
	maxQueued      = 1024    // lines
	maxQueuedBytes = 1 << 20 // of them all
)

// retryPause is the time between attempts to write queued lines if no call attempts it.
const retryPause = time.Second

// queue holds the lines that wait for the lock, the oldest first.
type queue struct {
	lines []queued
	bytes int
}

type queued struct {
	call string
	body []byte
}

// add keeps a copy of a line's body, and reports whether there was room.
func (q *queue) add(call string, body []byte) bool {
	if len(q.lines) == maxQueued || q.bytes+len(body) > maxQueuedBytes {
		return false
	}
	q.lines = append(q.lines, queued{call, slices.Clone(body)})
	q.bytes += len(body)
	return true
}

// drop removes the first n lines.
func (q *queue) drop(n int) {
	for i := range n {
		q.bytes -= len(q.lines[i].body)
	}
	q.lines = slices.Delete(q.lines, 0, n)
}

// calls names the calls whose lines wait, up to ten of them.
func (q *queue) calls() string {
	const shown = 10
	var names []string
	for _, l := range q.lines[:min(len(q.lines), shown)] {
		names = append(names, l.call)
	}
	text := strings.Join(names, ", ")
	if more := len(q.lines) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
