package audit

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
)

// pollInterval is how often somebody who follows a log looks at it.
const pollInterval = 200 * time.Millisecond

// Follow yields the last n lines of a log, and then each new one, also from the
// files that follow, until the context ends. A log that is not there yet is
// waited for. Errors are those of [Tail].
func Follow(ctx context.Context, path string, n int) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		f := follower{ctx: ctx, path: path, yield: yield}
		defer f.leave()
		if !f.begin(n) {
			return
		}
		tick := time.NewTicker(pollInterval)
		defer tick.Stop()
		for f.poll() {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}
}

// follower is a place in a log. Its methods report whether to go on.
type follower struct {
	ctx   context.Context //nolint:containedctx // of the one call that it serves
	path  string
	yield func(Entry, error) bool

	at     *os.File // nil: no file was there yet
	name   string   // the path that it was opened by
	offset int64    // of what was not yielded yet
	number int      // of the lines before
	seq    uint64   // of the newest entry
}

func (f *follower) leave() {
	if f.at != nil {
		_ = f.at.Close()
		f.at = nil
	}
}

func (f *follower) fail(err error) bool {
	if f.ctx.Err() == nil { // its end is how a follower is told to go
		f.yield(Entry{}, err)
	}
	return false
}

// begin yields the last n lines and goes to their end.
func (f *follower) begin(n int) bool {
	s, err := openSnapshot(f.ctx, f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		return f.fail(err)
	}
	defer s.close()
	f.path = s.path
	last, err := s.tail(f.ctx, max(n, 1)) // one to go on from
	if err != nil {
		return f.fail(err)
	}
	// A line that is being written is one of those to come.
	last = slices.DeleteFunc(last, func(p placed) bool { return p.path == s.path && !p.line.ended })
	for i := range last {
		if link, ok := parseLink(last[i].line.text); ok {
			f.seq = link.seq
		}
		if n > 0 && !f.give(last[i].path, &last[i].line) {
			return false
		}
	}
	if !s.current {
		return true
	}
	f.take(s)
	lines := newLines(f.ctx, io.NewSectionReader(f.at, 0, s.parts[len(s.parts)-1].size), 0)
	return f.skip(lines)
}

// take makes the newest part of a snapshot the file that is followed.
func (f *follower) take(s *snapshot) {
	newest := &s.parts[len(s.parts)-1]
	f.leave()
	f.at, f.name, f.offset, f.number = newest.file, newest.path, 0, 0
	newest.file = nil
}

// skip passes over whole lines.
func (f *follower) skip(lines *lines) bool {
	for {
		l, err := lines.next()
		if err != nil {
			return f.fail(failed(f.path, "read", err))
		}
		if l == nil || !l.ended {
			return true
		}
		f.offset, f.number = lines.offset, l.number
	}
}

func (f *follower) give(path string, l *line) bool {
	e, err := readEntry(path, l)
	if err == nil {
		f.seq = e.Seq
	}
	e.Raw = slices.Clone(e.Raw)
	return f.yield(e, err)
}

// poll yields what is new.
func (f *follower) poll() bool {
	if f.at != nil {
		same, err := safefile.IsAt(f.path, f.at)
		if err != nil {
			return f.fail(failed(f.path, "read", err))
		}
		// Nothing is added to a file after it was exchanged.
		if !f.drain(!same) {
			return false
		}
		if same {
			return true
		}
	}
	return f.advance()
}

// drain yields the lines that came to the file. Done: no more will come.
func (f *follower) drain(done bool) bool {
	info, err := f.at.Stat()
	if err != nil {
		return f.fail(failed(f.path, "read", err))
	}
	if f.offset > info.Size() { // somebody cut it
		f.offset = info.Size()
	}
	lines := newLines(f.ctx, io.NewSectionReader(f.at, f.offset, info.Size()-f.offset), f.offset)
	lines.number = f.number
	for {
		l, err := lines.next()
		if err != nil {
			return f.fail(failed(f.path, "read", err))
		}
		if l == nil || !l.ended && !l.endless && !done {
			return true
		}
		f.offset, f.number = lines.offset, l.number
		if l.endless { // and what comes is a part of it
			f.offset = info.Size()
		}
		if !f.give(f.name, l) {
			return false
		}
	}
}

// advance goes to the newest file and yields what is in those on the way.
func (f *follower) advance() bool {
	s, err := openSnapshot(f.ctx, f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return true // in the moment between two files, or there is none yet
	}
	if err != nil {
		return f.fail(err)
	}
	defer s.close()
	f.path = s.path
	if !s.current {
		return true
	}
	for i := f.after(s); i < len(s.parts)-1; i++ {
		seen := f.seq
		if !s.parts[i].search(f.ctx, Filter{}, func(e Entry, err error) bool {
			if err == nil && e.Seq <= seen {
				return true // its file could not be found among the others
			}
			f.seq = max(f.seq, e.Seq)
			return f.yield(e, err)
		}) {
			return false
		}
	}
	f.take(s)
	return f.drain(false)
}

// after is the first part behind the file that was followed; that one may have
// been deleted already.
func (f *follower) after(s *snapshot) int {
	if f.at == nil {
		return 0
	}
	info, err := f.at.Stat()
	if err != nil {
		return 0
	}
	i := slices.IndexFunc(s.parts, func(p part) bool {
		there, err := p.file.Stat()
		return err == nil && os.SameFile(info, there)
	})
	return i + 1
}
