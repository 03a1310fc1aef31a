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

// retryPause is how often a log that was locked is tried where no call tries it.
const retryPause = time.Second

// queue has the lines that wait for the lock, the oldest first.
type queue struct {
	lines []queued
	bytes int
}

type queued struct {
	call string
	body []byte
}

// add keeps a copy of a line's body. False: there is no room.
func (q *queue) add(call string, body []byte) bool {
	if len(q.lines) == maxQueued || q.bytes+len(body) > maxQueuedBytes {
		return false
	}
	q.lines = append(q.lines, queued{call, slices.Clone(body)})
	q.bytes += len(body)
	return true
}

// drop takes the first n lines away.
func (q *queue) drop(n int) {
	for i := range n {
		q.bytes -= len(q.lines[i].body)
	}
	q.lines = slices.Delete(q.lines, 0, n)
}

// calls names the calls whose lines wait, the first of them.
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
