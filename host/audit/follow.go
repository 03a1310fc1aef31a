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

// pollInterval is how often a search that follows looks for new lines.
const pollInterval = 200 * time.Millisecond

// followed is [Search] with [Filter.Follow].
func followed(ctx context.Context, path string, filter *Filter) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		f := follower{path: path, walk: newWalk(filter)}
		defer f.release()
		tick := time.NewTicker(pollInterval)
		defer tick.Stop()
		for first := true; ; first = false {
			more, err := f.poll(ctx, first, yield)
			if err != nil && more && ctx.Err() == nil { // its end is how callers end it
				yield(Entry{}, err)
			}
			if err != nil || !more {
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
	path string
	walk *walk
	// held is the newest part, kept open so that its file is not lost when it is deleted, nor
	// taken for a new one that gets its number in the file system.
	held *part
}

// poll yields the lines that are new.
func (f *follower) poll(ctx context.Context, first bool, yield func(Entry, error) bool) (more bool, err error) {
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
	if first {
		if err := s.begin(ctx, f.walk); err != nil {
			return true, err
		}
	}
	f.walk.at.following = true
	return s.walk(ctx, f.walk, yield)
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
