package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
)

// readerTimeout bounds how long a reader waits for writers. It can read without the lock: the
// last line may then be a piece of one.
const readerTimeout = time.Second

// part is one file of a log that is read.
type part struct {
	path   string
	number uint64 // 0: the file that is written
	file   *os.File
	info   fs.FileInfo // when the snapshot was made
}

// maxParts bounds how many files of a log are read, as all of them are open.
const maxParts = 1000

// snapshot is a log as it was at one moment: all files are open, so that none goes away while
// it is read.
type snapshot struct {
	path  string
	parts []part // the oldest first
	// current says that the last part is the file that is written.
	current bool
}

// openSnapshot opens all files of a log.
//
// # Errors
//
// [fs.ErrNotExist] if there are none; the context's error if it ends.
func openSnapshot(ctx context.Context, path string) (*snapshot, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	s := &snapshot{path: path}
	gate, _, err := safefile.Open(path+lockSuffix, os.O_RDONLY)
	if err == nil {
		defer func() { _ = gate.Close() }()
	}
	for range maxExchanges {
		if ctx.Err() != nil {
			return nil, failed(path, "read", ctx.Err())
		}
		again, err := s.fill(gate)
		if err == nil && !again {
			if len(s.parts) == 0 {
				return nil, failed(path, "read", fs.ErrNotExist)
			}
			return s, nil
		}
		s.close()
		if err != nil {
			return nil, failed(path, "read", err)
		}
	}
	return nil, failed(path, "read", errors.New("the file is replaced again and again"))
}

// fill opens the files. Again reports whether they were replaced meanwhile. Gate is the lock
// file; nil: it cannot be opened.
func (s *snapshot) fill(gate *os.File) (again bool, err error) {
	if gate != nil {
		// While it is locked no line is half written and no file is replaced. Readers that
		// cannot lock it read all the same.
		_ = safefile.Lock(gate, safefile.Shared, time.Now().Add(readerTimeout))
		defer func() { _ = safefile.Unlock(gate) }()
	}
	file, info, err := safefile.Open(s.path, os.O_RDONLY)
	if err != nil && !isMissing(err) {
		return false, err
	}
	files, _, err := listRotated(s.path)
	if err == nil && len(files) > maxParts {
		err = fmt.Errorf("there are %d files like %s, more than %d: move away those that are not the log's",
			len(files), rotatedPath(filepath.Base(s.path), 1), maxParts)
	}
	for _, r := range files {
		if err != nil {
			break
		}
		var old part
		if old, err = openPart(r.path, r.number); err == nil {
			s.parts = append(s.parts, old)
		}
	}
	if s.current = file != nil; s.current {
		same, gone := safefile.IsAt(s.path, file)
		err = errors.Join(err, gone)
		s.parts = append(s.parts, part{s.path, 0, file, info})
		again = !same
	}
	return again || isMissing(err), ignoreMissing(err)
}

func ignoreMissing(err error) error {
	if isMissing(err) {
		return nil
	}
	return err
}

func openPart(path string, number uint64) (part, error) {
	file, info, err := safefile.Open(path, os.O_RDONLY)
	if err != nil {
		return part{}, err
	}
	return part{path, number, file, info}, nil
}

func (s *snapshot) close() {
	for _, p := range s.parts {
		_ = p.file.Close()
	}
	s.parts = nil
}

// find returns the index of a file's part, or a negative number.
func (s *snapshot) find(file fs.FileInfo) int {
	return slices.IndexFunc(s.parts, func(p part) bool { return os.SameFile(file, p.info) })
}

// position is a place between two lines of a log. The zero value is the beginning.
type position struct {
	file   fs.FileInfo
	offset int64 // of the next line
	number int   // of the line before, in its file
	// following leaves a line that has no end yet to later reads.
	following bool
}

// each calls do with the lines after a position, which it advances, until do returns false.
//
// # Errors
//
// Those of reading; the context's error if it ends.
func (s *snapshot) each(ctx context.Context, at *position, do func(*part, *line) bool) error {
	first := 0
	if at.file != nil {
		first = max(0, s.find(at.file))
	}
	for i := first; i < len(s.parts); i++ {
		p := &s.parts[i]
		if at.file == nil || !os.SameFile(at.file, p.info) {
			at.offset, at.number = 0, 0
		}
		at.file = p.info
		at.offset = min(at.offset, p.info.Size()) // the file may have been cut
		lines := newLines(ctx, io.NewSectionReader(p.file, at.offset, p.info.Size()-at.offset), at.offset)
		lines.number = at.number
		for {
			l, err := lines.next()
			if err != nil {
				return failed(p.path, "read", err)
			}
			if l == nil || at.following && p.number == 0 && !l.ended && !l.endless {
				break
			}
			at.offset, at.number = lines.offset, l.number
			if l.endless { // what is added later is a part of it
				at.offset = p.info.Size()
			}
			if !do(p, l) {
				return nil
			}
		}
	}
	return nil
}
