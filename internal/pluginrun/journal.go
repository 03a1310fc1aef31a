package pluginrun

import (
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// What a [Journal] keeps: lines, bytes of all of them, and bytes of one.
const (
	journalLines     = 1000
	journalBytes     = 128 << 10
	journalLineBytes = 2 << 10
)

// Journal keeps the newest lines of what a plugin writes to its log and to standard error, and
// of what the host says of it, over all its processes: at most 1,000 lines and 128 KiB. Lines
// that come faster than the host reads are left out. It is safe for concurrent use; the zero
// value is empty.
type Journal struct {
	mu      sync.Mutex
	lines   []plugin.Line // the oldest first
	bytes   int
	last    uint64
	changed chan struct{} // closed with the next line; nil: none waits
}

// Since returns the lines after the one of a number, oldest first, and a channel that is closed
// when there are more. For 0 it returns all that are kept.
func (j *Journal) Since(number uint64) (lines []plugin.Line, more <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.changed == nil {
		j.changed = make(chan struct{})
	}
	kept := uint64(len(j.lines))
	begin := j.last - kept // the number of the line before the first
	skip := min(max(number, begin)-begin, kept)
	return append([]plugin.Line(nil), j.lines[skip:]...), j.changed
}

// add adds a line. A nil journal keeps nothing.
func (j *Journal) add(l plugin.Line) {
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
