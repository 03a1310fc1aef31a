package audit

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"slices"
	"time"
)

// pollInterval is how often Follow looks for new lines.
const pollInterval = 200 * time.Millisecond

// Follow yields the last n lines of a log, and then each new one, also from the files
// that follow, until the context ends. It waits for a log that is not there yet. Errors
// are those of [Tail].
func Follow(ctx context.Context, path string, n int) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		f := follower{path: path, yield: yield, at: position{following: true}}
		defer f.release()
		tick := time.NewTicker(pollInterval)
		defer tick.Stop()
		for more, err := f.begin(ctx, n); more; more, err = f.poll(ctx) {
			if err != nil {
				if ctx.Err() == nil { // its end is how callers end Follow
					yield(Entry{}, err)
				}
				return
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}
}

type follower struct {
	path  string
	yield func(Entry, error) bool
	at    position
	// held is the newest part, kept open so that its file is not lost when it is deleted, nor
	// taken for a new one that gets its number in the file system.
	held *part
}

// begin yields the last n lines. More is false when no more lines are wanted.
func (f *follower) begin(ctx context.Context, n int) (more bool, err error) {
	s, err := f.open(ctx)
	if s == nil {
		return true, err
	}
	defer f.hold(s)
	last, err := s.tail(ctx, max(n, 1), &f.at) // one to go on from
	if err != nil {
		return true, err
	}
	for i := range last {
		e, err := readEntry(last[i].path, &last[i].line)
		if n > 0 && !f.yield(e, err) {
			return false, nil
		}
	}
	return true, nil
}

// poll yields the lines that are new.
func (f *follower) poll(ctx context.Context) (more bool, err error) {
	if f.held != nil {
		info, err := os.Lstat(f.path)
		if err == nil && os.SameFile(info, f.held.info) && info.Size() == f.held.info.Size() {
			return true, nil
		}
	}
	s, err := f.open(ctx)
	if s == nil {
		return true, err
	}
	defer f.hold(s)
	more = true
	err = s.each(ctx, &f.at, func(p *part, l *line) bool {
		more = f.yield(readEntry(p.path, l))
		return more
	})
	return more, err
}

// open opens the log, with the part that is held; nil: there is none.
func (f *follower) open(ctx context.Context) (*snapshot, error) {
	s, err := openSnapshot(ctx, f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f.path = s.path
	if f.held != nil && s.find(f.held.info) < 0 { // it was deleted; lines may have come before
		if f.held.info, err = f.held.file.Stat(); err != nil {
			s.close()
			return nil, failed(f.path, "read", err)
		}
		f.held.number = 1 // it is complete
		s.parts = slices.Insert(s.parts, 0, *f.held)
		f.held = nil
	}
	return s, nil
}

// hold keeps the newest part of a snapshot open, and closes the others.
func (f *follower) hold(s *snapshot) {
	f.release()
	last := len(s.parts) - 1
	f.held = &s.parts[last]
	s.parts = s.parts[:last]
	s.close()
}

func (f *follower) release() {
	if f.held != nil {
		_ = f.held.file.Close()
	}
}
