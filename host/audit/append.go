package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
)

// maxExchanges bounds how often others may replace a file before an append fails.
const maxExchanges = 1000

// append writes the queued lines and then others, whose records are already encoded, after
// the last line of the log, whoever wrote that. It returns how many of the others it wrote, and why
// no more. The caller holds mu.
func (f *File) append(bodies [][]byte, deadline time.Time) (n int, err error) {
	if f.stuck { // one call has already waited
		deadline = time.Time{}
	}
	err = f.lockFile.lock(deadline)
	if err == nil {
		defer f.lockFile.unlock()
		err = f.openCurrent(deadline)
	}
	f.stuck = errors.Is(err, safefile.ErrLocked)
	if err != nil {
		return 0, err
	}
	if err = f.writeQueued(); err == nil {
		n, err = f.writeAll(bodies)
	}
	if err == nil {
		f.head.remember(f.last, f.ends, f.opts.Warn)
	}
	return n, err
}

// writeAll writes lines, as many at a time as it can, and returns how many it wrote.
func (f *File) writeAll(bodies [][]byte) (n int, err error) {
	for n < len(bodies) && err == nil {
		var written int
		written, err = f.write(bodies[n:])
		n += written
	}
	return n, err
}

// writeQueued writes the queued lines.
func (f *File) writeQueued() error {
	if len(f.waiting.lines) == 0 {
		return nil
	}
	bodies := make([][]byte, len(f.waiting.lines))
	for i, l := range f.waiting.lines {
		bodies[i] = l.body
	}
	n, err := f.writeAll(bodies)
	f.waiting.drop(n)
	return err
}

// write writes the first of some lines, into a new file if this one is full, and those that fit after it. It returns
// how many these are. The log is locked.
func (f *File) write(bodies [][]byte) (n int, err error) {
	for range maxExchanges {
		if f.last.seq >= maxSeq {
			return 0, fmt.Errorf("its last line has the number %d, which toolhost cannot have written: move the log away", f.last.seq)
		}
		last, n := f.nextLines(bodies)
		if f.size == 0 || f.fits() && !f.isOld() {
			if err := f.writeLines(last); err != nil {
				return 0, err
			}
			return n, nil
		}
		err := f.rotate()
		if err == nil {
			err = f.openCurrent(time.Time{})
		}
		if err != nil {
			return 0, fmt.Errorf("a new file cannot be begun: %w", err)
		}
	}
	return 0, errors.New("the file is replaced again and again")
}

// openCurrent opens the file, unless it is open, and reads what it ends with. If another
// process or a person has replaced it, openCurrent opens the new one, and the lock file
// too, which may have been replaced with it. The lock file is locked.
func (f *File) openCurrent(deadline time.Time) error {
	for range maxExchanges {
		if f.at == nil {
			if err := f.open(); err != nil {
				return err
			}
		}
		there, size, err := f.there()
		switch {
		case there:
			return f.readEnd(size)
		case err != nil && !isMissing(err):
			return err
		}
		if err := f.closeFile(); err != nil {
			return err
		}
		f.lockFile.close()
		if err := f.lockFile.lock(deadline); err != nil {
			return err
		}
	}
	return errors.New("the file is replaced again and again")
}

// lookPause is the longest time in which a log that was moved away by others is still written.
const lookPause = 100 * time.Millisecond

// there reports whether the open file is the one at the path, and its size. The file itself says whether it was
// removed, replaced or cut, and the lock file whether a writer has begun another. Only that others have moved it away
// shows at the path alone, which takes longer to look at: it is looked at ten times a second.
func (f *File) there() (there bool, size int64, err error) {
	now := time.Now()
	if f.generation == f.lockFile.generation && now.Sub(f.looked) < lookPause {
		if s, err := conditionOf(f.at.File); err == nil && s.named {
			return true, s.size, nil
		}
	}
	id, size, err := identify(f.path)
	f.looked, f.generation = now, f.lockFile.generation
	return err == nil && id.same(f.at.id), size, err
}

func (f *File) open() error {
	file, err := create(f.path)
	if err != nil {
		return err
	}
	now, err := conditionOf(file)
	if err != nil {
		_ = file.Close()
		return err
	}
	f.at, f.size, f.began, f.looked = &handle{File: file, id: now.id}, -1, time.Time{}, time.Time{}
	return nil
}

// readEnd reads what the log ends with, if others have written since. Size is the size of
// the file.
func (f *File) readEnd(size int64) (err error) {
	if size > 0 && size == f.size {
		return nil
	}
	f.size = -1
	f.oldest, f.obsolete = 0, nil
	var e ending
	if size > 0 {
		e, err = readEnding(f.at.File, size)
	} else if err = f.lockFile.begin(); err == nil {
		e, err = f.previousEnding()
	}
	if err != nil {
		return err
	}
	// Lines that were written and are gone, or are others now, show if the log goes on from them.
	if e.last.seq > f.last.seq || e.last.hash == f.last.hash {
		f.last = e.last
	} else {
		f.cut = true
	}
	f.size, f.torn, f.unended = size, e.torn, e.unended
	return nil
}

// nextLines encodes the next line, and as many more as fit into the file and the buffer. It returns the place of the
// last one in the chain, and how many they are.
func (f *File) nextLines(bodies [][]byte) (last link, n int) {
	last = link{seq: f.last.seq + 1, prev: f.last.hash, torn: f.torn, oldest: f.oldest}
	f.lines = f.lines[:0]
	if f.unended {
		f.lines = append(f.lines, '\n')
	}
	f.lines = last.appendLine(f.lines, bodies[0])
	for n = 1; n < len(bodies) && len(f.lines) < maxLine && last.seq < maxSeq; n++ {
		next, end := link{seq: last.seq + 1, prev: last.hash}, len(f.lines)
		if f.lines = next.appendLine(f.lines, bodies[n]); !f.fits() {
			f.lines = f.lines[:end]
			break
		}
		last = next
	}
	return last, n
}

// fits reports whether the encoded lines fit into the file.
func (f *File) fits() bool { return f.opts.MaxSize < 0 || f.size+int64(len(f.lines)) <= f.opts.MaxSize }

// writeLines writes the encoded lines, all of them or nothing.
func (f *File) writeLines(last link) error {
	if _, err := f.writeAt(f.at.File, f.lines, f.size); err != nil {
		// If even this fails, the next line says so.
		if undo := f.at.Truncate(f.size); undo != nil {
			f.size = -1
		}
		return err
	}
	f.last, f.torn, f.unended, f.oldest = last, sum{}, false, 0
	f.size += int64(len(f.lines))
	// What is not deleted now is deleted with the next file.
	for _, path := range f.obsolete {
		_ = os.Remove(path)
	}
	f.obsolete = nil
	return nil
}

// isMissing reports whether an error says that a file does not exist.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
