package plugin

import (
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// What a [Journal] keeps: lines, bytes of all of them, and bytes of one.
const (
	journalLines     = 1000
	journalBytes     = 128 << 10
	journalLineBytes = 2 << 10
)

// Line is one line of a [Journal].
type Line struct {
	// Number counts the lines, from 1; a gap tells that lines were dropped.
	Number uint64    `json:"number"`
	Time   time.Time `json:"time"`
	PID    int       `json:"pid,omitempty"`
	// Level is that of the log, such as info; for lines of the host warn, or info.
	Level string `json:"level"`
	// Host reports that the host says this of the plugin.
	Host bool `json:"host,omitempty"`
	// Text is one line, fit to be shown, of at most 2 KiB.
	Text string `json:"text"`
	// Call is the ID of the call that the line belongs to; empty: none, or not known.
	Call string `json:"call,omitempty"`
}

// Journal keeps the newest lines of what a plugin writes to its log and to standard error, and
// of what the host says of it, over all its processes: at most 1,000 lines and 128 KiB. Lines
// that come faster than the host reads are left out. It is safe for concurrent use; the zero
// value is empty.
type Journal struct {
	mu      sync.Mutex
	lines   []Line // the oldest first
	bytes   int
	last    uint64
	changed chan struct{} // closed with the next line; nil: none waits
}

// Since returns the lines after the one of a number, oldest first, and a channel that is closed
// when there are more. For 0 it returns all that are kept.
func (j *Journal) Since(number uint64) (lines []Line, more <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.changed == nil {
		j.changed = make(chan struct{})
	}
	kept := uint64(len(j.lines))
	begin := j.last - kept // the number of the line before the first
	skip := min(max(number, begin)-begin, kept)
	return append([]Line(nil), j.lines[skip:]...), j.changed
}

// add adds a line. A nil journal keeps nothing.
func (j *Journal) add(l Line) {
	if j == nil {
		return
	}
	l.Time, l.Text = time.Now(), sanitize.Line(l.Text, journalLineBytes)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last++
	l.Number = j.last
	j.lines = append(j.lines, l)
	j.bytes += len(l.Text)
	drop := 0
	for ; len(j.lines)-drop > journalLines || j.bytes > journalBytes; drop++ {
		j.bytes -= len(j.lines[drop].Text)
	}
	j.lines = j.lines[drop:]
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}
