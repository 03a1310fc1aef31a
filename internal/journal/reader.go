package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
)

// maxLine bounds a line of a file, in bytes: the text of an entry may be twice as long there, and has facts.
// A longer one is not ours.
const maxLine = 16 << 10

// Pace is how often one who follows looks for what is new.
const Pace = 200 * time.Millisecond

// Reader reads the files of a directory while processes write, rotate and remove them. It is not safe for
// concurrent use.
type Reader struct {
	// Plugin is whose entries are read; empty: those of all plugins.
	Plugin string
	// Since is the time before which none is.
	Since time.Time
	// Events says that only events are read.
	Events bool

	dir   string
	parts map[string]*part // by the path of the current file
}

// NewReader returns a reader of all entries of a directory, which need not exist.
func NewReader(dir string) *Reader { return &Reader{dir: dir, parts: map[string]*part{}} }

// Found reports whether there is any file of what is wanted.
func (r *Reader) Found() bool { return len(r.parts) > 0 }

// Close closes the files.
func (r *Reader) Close() {
	for _, p := range r.parts {
		p.close()
	}
}

// New returns the entries that it has not returned yet: in the order in which they were written, and between
// files in that of their times. Other text, such as what a process that was killed has left, is skipped.
//
// # Errors
//
// Those of the system, for files that cannot be read. The others are read.
func (r *Reader) New() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := r.look(); err != nil && !yield(Entry{}, err) {
			return
		}
		heads := map[*part]*Entry{}
		advance := func(p *part) bool {
			delete(heads, p)
			for {
				e, err := p.next()
				if err != nil {
					return errors.Is(err, errTold) || yield(Entry{}, err)
				}
				if e == nil {
					return true
				}
				if !e.Time.Before(r.Since) && (r.Plugin == "" || e.Plugin == r.Plugin) {
					heads[p] = e
					return true
				}
			}
		}
		for _, p := range r.parts {
			if !advance(p) {
				return
			}
		}
		for len(heads) > 0 {
			var first *part
			for p, e := range heads {
				if first == nil || e.Time.Before(heads[first].Time) || e.Time.Equal(heads[first].Time) && p.path < first.path {
					first = p
				}
			}
			if !yield(*heads[first], nil) || !advance(first) {
				return
			}
		}
	}
}

// Newest returns the newest of what New yields, at most so many, and the errors, joined.
func (r *Reader) Newest(most int) (newest []Entry, err error) {
	for e, fault := range r.New() {
		if fault != nil {
			err = errors.Join(err, fault)
			continue
		}
		if newest = append(newest, e); len(newest) == 2*most {
			newest = append(newest[:0], newest[most:]...)
		}
	}
	return newest[max(0, len(newest)-most):], err
}

// look finds files that are new.
func (r *Reader) look() error {
	entries, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		name, ok := kind(e.Name())
		of, isLog := strings.CutSuffix(name, ".log")
		if !isLog {
			of = strings.TrimSuffix(name, ".events")
		}
		if !ok || r.Events && isLog || r.Plugin != "" && of != fileName(r.Plugin) {
			continue
		}
		if path := filepath.Join(r.dir, name); r.parts[path] == nil {
			r.parts[path] = &part{path: path, since: r.Since}
		}
	}
	return err
}

// part is what is written to one path, over the files that it has named.
type part struct {
	path  string
	since time.Time
	told  bool // why it cannot be read

	file   *os.File // nil: there was none yet
	in     *bufio.Reader
	at     int64 // where the next line begins
	inLong bool  // in a line that is too long
}

func (p *part) close() {
	if p.file != nil {
		_ = p.file.Close()
	}
}

// next returns the next entry; nil: there is none now.
func (p *part) next() (*Entry, error) {
	for {
		if p.file != nil {
			if e := p.read(); e != nil {
				return e, nil
			}
		}
		path, err := p.following()
		if path == "" || err != nil {
			return nil, err
		}
		if p.file != nil { // it may have been written to before it was renamed
			if e := p.read(); e != nil {
				return e, nil
			}
		}
		if err := p.use(path); err != nil {
			return nil, err
		}
	}
}

// following returns the path of the file that comes after the one that is open, which was read to its end, or of the
// first: the one that was rotated, unless it is older than what is wanted. Empty: there is none. The file that is
// open stays so until there is one, so that it is not mistaken for another. If it was cut, it follows itself.
func (p *part) following() (string, error) {
	now, err := os.Lstat(p.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	rotated, missing := os.Lstat(p.path + ".1")
	if p.file == nil {
		switch {
		case missing == nil && rotated.Mode().IsRegular() && !rotated.ModTime().Before(p.since):
			return p.path + ".1", nil
		case err == nil:
			return p.path, nil
		}
		return "", nil
	}
	old, fault := p.file.Stat()
	switch {
	case fault != nil || err != nil:
		return "", fault
	case os.SameFile(old, now):
		if old.Size() < p.at {
			return p.path, nil
		}
		return "", nil
	case missing == nil && rotated.Mode().IsRegular() && !os.SameFile(old, rotated) && rotated.ModTime().After(old.ModTime()):
		return p.path + ".1", nil // two were rotated meanwhile
	}
	return p.path, nil
}

func (p *part) use(path string) error {
	f, _, err := safefile.Open(path, os.O_RDONLY)
	switch {
	case err == nil:
		p.close()
		p.file, p.in, p.at, p.inLong = f, bufio.NewReaderSize(f, maxLine), 0, false
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case p.told:
		return errTold
	}
	p.told = true
	return fmt.Errorf("%s cannot be read: %w", path, err)
}

// errTold stands for an error that was told already.
var errTold = errors.New("it cannot be read")

// read returns the next entry of the file; nil: there is none yet.
func (p *part) read() *Entry {
	for {
		line, err := p.in.ReadSlice('\n')
		switch {
		case err == nil:
			p.at += int64(len(line))
			e, whole := new(Entry), !p.inLong
			p.inLong = false
			if whole && json.Unmarshal(line, e) == nil && !e.Time.IsZero() {
				return e
			}
		case errors.Is(err, bufio.ErrBufferFull):
			p.at += int64(len(line))
			p.inLong = true
		default: // a line is not whole yet, or this is the end
			if _, err := p.file.Seek(p.at, io.SeekStart); err == nil {
				p.in.Reset(p.file)
			}
			return nil
		}
	}
}
