package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
)

// Bounds of the files: of one (each has one before it), and of all together, of which the oldest go. None goes for its
// age, as a clock may jump.
const (
	maxLines  = 4 << 20
	maxEvents = 256 << 10
	maxAll    = 128 << 20
	maxFiles  = 4000
	// Of the events of one plugin that wait in memory when they cannot be written.
	maxWaiting = 8 << 10
)

// How often entries are written at most, how long a file is waited for that another process writes, and how long
// the writer waits after it could not.
const (
	writePause = 50 * time.Millisecond
	lockWait   = 200 * time.Millisecond
	faultPause = time.Second
)

// Store has the journals of the plugins of a process, and writes their entries to files of a directory, in the
// background: whoever adds an entry never waits for a disk. Several processes may write to one directory. What
// could not be written, as the disk is full, is tried again as long as the journals have it, and then counted.
type Store struct {
	dir  string // empty: it writes nothing
	warn func(text string, err error)

	events Journal // of all plugins

	mu       sync.Mutex
	journals map[string]*Journal
	wake     chan struct{} // nil: nothing was added yet
	stop     chan struct{}
	done     chan struct{}
	closed   bool
	faulty   bool // the newest attempt to write failed, which was said

	// The writer's own.
	ready   bool              // the directory is there, and has room
	waiting map[string][]byte // events that could not be written, by the plugin
}

// NewStore returns a store that begins to write with the first entry. Warn is called once for each time that
// writing begins to fail.
func NewStore(dir string, warn func(text string, err error)) *Store {
	s := &Store{dir: dir, warn: warn, journals: map[string]*Journal{}, waiting: map[string][]byte{}}
	s.events.store = s
	return s
}

// Of returns the journal of a plugin.
func (s *Store) Of(plugin string) *Journal {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.journals[plugin]
	if j == nil {
		j = &Journal{plugin: plugin, store: s}
		s.journals[plugin] = j
	}
	return j
}

// Events returns the journal of what has happened to all plugins.
func (s *Store) Events() *Journal { return &s.events }

// note tells the writer that there is an entry. It never waits.
func (s *Store) note() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" || s.closed {
		return
	}
	if s.wake == nil {
		s.wake, s.stop, s.done = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
		go s.run()
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// closeWait is how long Close waits for what is written last.
const closeWait = 2 * time.Second

// Close writes what there is, within 2 s. Entries that come later are not written.
func (s *Store) Close() {
	s.mu.Lock()
	begun := s.wake != nil && !s.closed
	s.closed = true
	s.mu.Unlock()
	if !begun {
		return
	}
	close(s.stop)
	select {
	case <-s.done:
	case <-time.After(closeWait):
	}
}

// run is the writer.
func (s *Store) run() {
	defer close(s.done)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-s.wake:
		case <-s.stop:
			_ = s.write()
			return
		}
		wait := writePause
		if err := s.write(); err != nil {
			wait = faultPause
			s.note()
		}
		pause.Reset(wait)
		select {
		case <-pause.C:
		case <-s.stop:
			_ = s.write()
			return
		}
	}
}

// write writes what was not written yet.
func (s *Store) write() (fault error) {
	if !s.ready {
		fault = s.prepare()
		s.ready = fault == nil
	}
	if fault == nil {
		s.mu.Lock()
		all := slices.Collect(maps.Values(s.journals))
		s.mu.Unlock()
		for _, j := range all {
			fault = errors.Join(fault, s.writeLines(j))
		}
		fault = errors.Join(fault, s.writeEvents())
	}
	s.ready = s.ready && fault == nil
	s.mu.Lock()
	said := s.faulty
	s.faulty = fault != nil
	s.mu.Unlock()
	if fault != nil && !said {
		s.warn("what plugins write, and what happens to them, is not kept in files until that is mended", fault)
	}
	return fault
}

// writeLines writes what a plugin wrote. What cannot be written stays in the journal, as long as that has room.
func (s *Store) writeLines(j *Journal) error {
	j.mu.Lock()
	entries, from := slices.Clone(j.after(j.written)), j.written
	j.mu.Unlock()
	if len(entries) == 0 {
		return nil
	}
	var text []byte
	if lost := entries[0].Number - from - 1; lost > 0 {
		text = appendEntry(text, Entry{
			Time: entries[0].Time, Plugin: j.plugin, Level: "warn", Event: Lost,
			Text: fmt.Sprintf("%d lines are missing here: they came faster than they could be written", lost),
		})
	}
	for _, e := range entries {
		if e.Event == "" {
			text = appendEntry(text, e)
		}
	}
	if err := s.append(j.plugin, ".log", text, maxLines); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.written = entries[len(entries)-1].Number
	return nil
}

// writeEvents writes the events of all plugins. Of those that cannot be written some wait for the next time.
func (s *Store) writeEvents() (fault error) {
	s.events.mu.Lock()
	for _, e := range s.events.after(s.events.written) {
		s.waiting[e.Plugin] = appendEntry(s.waiting[e.Plugin], e)
	}
	s.events.written = s.events.last
	s.events.mu.Unlock()
	for plugin, text := range s.waiting {
		err := s.append(plugin, ".events", text, maxEvents)
		if fault = errors.Join(fault, err); err == nil || len(text) > maxWaiting {
			delete(s.waiting, plugin)
		}
	}
	return fault
}

func appendEntry(to []byte, e Entry) []byte {
	e.Number = 0
	text := bytes.NewBuffer(to)
	enc := json.NewEncoder(text)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(e) // nothing of it can fail
	return text.Bytes()
}

// append appends whole lines to a file of a plugin.
func (s *Store) append(plugin, ending string, lines []byte, most int64) error {
	if len(lines) == 0 {
		return nil
	}
	rotated, err := appendTo(filepath.Join(s.dir, fileName(plugin)+ending), lines, most)
	if rotated {
		s.ready = false // all together may be too large now
	}
	return err
}

// appendTo appends whole lines to a file, which gets the ending .1 if it would be too large, and its place is
// taken by a new one. Several processes may do so at a time.
func appendTo(path string, lines []byte, most int64) (rotated bool, err error) {
	for {
		f, info, err := open(path)
		if err != nil {
			return rotated, err
		}
		if info.Size() > 0 && info.Size()+int64(len(lines)) > most { // again, if others have filled the new file by now
			rotated = true
			err = os.Rename(path, path+".1") // while it is locked: the others look whether it is still there
			_ = f.Close()
			if err != nil {
				return rotated, err
			}
			continue
		}
		defer func() { _ = f.Close() }()
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' { // a process was killed meanwhile
			lines = append([]byte{'\n'}, lines...)
		}
		if _, err := f.Write(lines); err != nil {
			return rotated, errors.Join(err, f.Truncate(info.Size()))
		}
		return rotated, nil
	}
}

// open opens a file that others do not write until it is closed.
func open(path string) (*os.File, os.FileInfo, error) {
	until := time.Now().Add(lockWait)
	for {
		f, _, err := safefile.Open(path, os.O_RDWR|os.O_APPEND|os.O_CREATE)
		if err != nil {
			return nil, nil, err
		}
		err = safefile.Lock(f, safefile.Exclusive, until)
		if there, e := safefile.IsAt(path, f); err == nil && e == nil && !there { // it was rotated meanwhile
			_ = f.Close()
			continue
		}
		info, e := f.Stat()
		if err = errors.Join(err, e); err != nil {
			_ = f.Close()
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		return f, info, nil
	}
}
