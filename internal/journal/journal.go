// Package journal keeps what plugins write and what happens to them: the newest of it in memory
// ([Journal]), and more of it in files that several processes write and any may read ([Store],
// [Reader]).
package journal

import (
	"fmt"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// Entry is one line: what a plugin writes to its log and to standard error, or what the host says of the
// plugin, which is an event.
type Entry struct {
	// Number counts the entries of a [Journal], from 1; a gap tells that some were dropped. Those of files
	// have none.
	Number uint64    `json:"number,omitempty"`
	Time   time.Time `json:"time"`
	Plugin string    `json:"plugin"`
	PID    int       `json:"pid,omitempty"`
	// Level is that of the log, such as info; for events warn, or info.
	Level string `json:"level"`
	// Event is the kind of an event, such as started; empty: the plugin wrote it.
	Event string `json:"event,omitempty"`
	// Text is one line, fit to be shown, of at most 2 KiB.
	Text string `json:"text"`
	// Call is the ID of the call that the line belongs to; empty: none, or not known.
	Call string `json:"call,omitempty"`
	// Facts are what the text of an event says, for programs.
	Facts map[string]string `json:"facts,omitempty"`
}

// Kinds of events. Those of the first group are in a host's log too, under "event".
const (
	StartFailed  = "start_failed"
	Crashed      = "crashed"
	Backoff      = "backoff"     // the next start has to wait
	Quarantined  = "quarantined" // calls are refused for a while
	Added        = "added"
	Upgraded     = "upgraded"
	Removed      = "removed"
	Survived     = "survived"      // a process of a run that has ended lives on
	WantsMore    = "wants_more"    // it declares needs that were not accepted, and runs without
	EnforcesLess = "enforces_less" // a start was refused that would have enforced less than earlier ones
	Open         = "open"          // it has started for the first time, and not all is closed to it

	Started       = "started" // a process, or the connection to a server
	Ended         = "ended"   // in good order
	Refused       = "refused" // a start, by a lock or by what the configuration says of writing
	Denied        = "denied"  // something, by the sandbox
	Note          = "note"
	UpgradeFailed = "upgrade_failed"
	Accepted      = "accepted" // by the operator: needs, levels, or a sandbox that enforces less
	Answered      = "answered" // a question whether a call may run
	ToolsChanged  = "tools_changed"
	Lost          = "lost" // entries that could not be written
)

// What a [Journal] keeps: entries, bytes of all of them, and bytes of the text of one.
const (
	maxEntries = 1000
	maxBytes   = 128 << 10
	maxText    = 2 << 10
)

// Events of one plugin that are kept at once, and how many more for each second: a plugin can make
// some happen as often as it likes.
const eventBurst, eventRate = 100, 1

// Journal keeps the newest entries of a plugin over all its processes, or the events of all plugins: at most
// 1,000 and 128 KiB. It is safe for concurrent use; the zero value is empty, and a nil one keeps nothing.
type Journal struct {
	plugin string
	store  *Store // takes the entries, too; nil: none does

	mu      sync.Mutex
	entries []Entry // the oldest first
	bytes   int
	last    uint64
	written uint64        // of the newest entry that the store has seen to
	changed chan struct{} // closed with the next entry; nil: none waits
	spent   float64       // of the events at once
	at      time.Time     // of the newest event
	left    int           // events that came too fast since then
}

// Dir returns the directory of the files to which entries are written; empty: there are none, or they could not be
// written last.
func (j *Journal) Dir() string {
	if j.store == nil {
		return ""
	}
	j.store.mu.Lock()
	defer j.store.mu.Unlock()
	if j.store.faulty {
		return ""
	}
	return j.store.dir
}

// Since returns the entries after the one of a number, oldest first, and a channel that is closed
// when there are more. For 0 it returns all that are kept.
func (j *Journal) Since(number uint64) (entries []Entry, more <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.changed == nil {
		j.changed = make(chan struct{})
	}
	return append([]Entry(nil), j.after(number)...), j.changed
}

// after returns the entries after the one of a number. The lock is held.
func (j *Journal) after(number uint64) []Entry {
	kept := uint64(len(j.entries))
	begin := j.last - kept // the number of the entry before the first
	return j.entries[min(max(number, begin)-begin, kept):]
}

// Add adds what the plugin wrote.
func (j *Journal) Add(e Entry) {
	if j != nil {
		j.put(j.complete(e))
	}
}

// complete makes an entry fit to be kept.
func (j *Journal) complete(e Entry) Entry {
	e.Time, e.Plugin = time.Now(), j.plugin
	e.Text, e.Call = sanitize.Line(e.Text, maxText), sanitize.Line(e.Call, 128)
	return e
}

// Tell adds an event. Args are names and values of facts; a nil value has none.
func (j *Journal) Tell(level, kind, text string, args ...any) {
	left, ok := j.admits()
	if !ok {
		return
	}
	if left > 0 {
		text += fmt.Sprintf(" (%d events before it came too fast, and are left out)", left)
	}
	e := Entry{Level: level, Event: kind, Text: text, Facts: map[string]string{}}
	for i := 0; i+1 < len(args); i += 2 {
		switch name, value := fmt.Sprint(args[i]), sanitize.Line(fmt.Sprint(args[i+1]), maxText/4); {
		case value == "" || args[i+1] == nil:
		case name == "pid":
			e.PID, _ = args[i+1].(int)
		case name == "call":
			e.Call = value
		default:
			e.Facts[name] = value
		}
	}
	e = j.complete(e)
	if j.store != nil {
		j.store.events.put(e)
	}
	j.put(e)
}

// admits reports whether an event does not come too fast after others, and how many before it did.
func (j *Journal) admits() (left int, ok bool) {
	if j == nil {
		return 0, false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	j.spent = max(0, j.spent-now.Sub(j.at).Seconds()*eventRate)
	j.at = now
	if j.spent+1 > eventBurst {
		j.left++
		return 0, false
	}
	j.spent++
	left, j.left = j.left, 0
	return left, true
}

// put adds an entry that is complete.
func (j *Journal) put(e Entry) {
	j.mu.Lock()
	j.last++
	e.Number = j.last
	j.entries = append(j.entries, e)
	j.bytes += len(e.Text)
	drop := 0
	for ; len(j.entries)-drop > maxEntries || j.bytes > maxBytes; drop++ {
		j.bytes -= len(j.entries[drop].Text)
	}
	j.entries = j.entries[drop:]
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
	j.mu.Unlock()
	if j.store != nil {
		j.store.note()
	}
}
