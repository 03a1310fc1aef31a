package sealed

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/toolhost/toolhost/internal/safefile"
)

// Options say how a copy is made. The zero value, with a Dir, is complete.
type Options struct {
	// Dir is an existing directory, mode 0700, of this user's, for private copies.
	// Empty: a file that cannot be held in memory is refused.
	Dir string
	// MaxSize bounds the file, in bytes. Default: [MaxSize].
	MaxSize int64
	// Private makes a private copy in any case.
	Private bool
}

// MaxSize is how large a file may be by default, in bytes: 2 GiB.
const MaxSize = 2 << 30

// ErrChanged is the cause if a file changed while it was read, such as one that is being
// copied into place.
var ErrChanged = errors.New("it changed while it was read")

// File is a copy that runs. It is safe for concurrent use.
type File struct {
	// SHA256 is the digest of what runs, in lower-case hexadecimal digits.
	SHA256 string
	// Size is in bytes.
	Size int64
	// Sealed reports whether nothing can change the copy any more.
	Sealed bool

	mu      sync.Mutex
	held    *os.File // of a memory file
	private string   // path of a private copy
}

// Path returns what to run, in this process and until the File is closed; the name that the
// program is to see goes in its first argument. Empty: the File is closed.
func (f *File) Path() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held != nil {
		return descriptorPath(f.held)
	}
	return f.private
}

// Descriptor returns the memory file, open for reading until the File is closed; nil if it
// is a private copy, or closed. The descriptor is closed when another program is run.
func (f *File) Descriptor() *os.File {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held
}

// Close gives the copy up. What runs from it goes on. Closing again does nothing.
//
// # Errors
//
// Those of removing a private copy that is still there.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	held, private := f.held, f.private
	f.held, f.private = nil, ""
	var err error
	if held != nil {
		err = held.Close()
	}
	if private != "" {
		if removed := os.Remove(private); !errors.Is(removed, os.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}
	return err
}

// copying bounds how much all copies that are being made may hold together, in bytes: as much
// as one of the largest. Whoever may write the plugin directory chooses their size.
var copying = semaphore.NewWeighted(MaxSize)

// Copy reads a regular file once, and returns a copy that runs, with its digest. A symbolic
// link is not followed, and a FIFO or device not waited for. Copies that would have more than
// [MaxSize] bytes together are made one after the other. Holes in the file are holes in the
// copy, and take no memory.
//
// # Errors
//
// Those of [Open]; plain ones with the path: [ErrChanged], the context's error, and those of
// writing the copy.
func Copy(ctx context.Context, path string, o Options) (*File, error) {
	f, err := copyFile(ctx, path, o)
	if err != nil {
		if at, ok := errors.AsType[*os.PathError](err); ok && at.Path == path {
			return nil, err
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func copyFile(ctx context.Context, path string, o Options) (*File, error) {
	if o.MaxSize <= 0 {
		o.MaxSize = MaxSize
	}
	from, before, err := Open(path, o.MaxSize)
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }()
	weight := min(before.Size(), MaxSize)
	if copying.Acquire(ctx, weight) != nil {
		return nil, context.Cause(ctx)
	}
	defer copying.Release(weight)
	r := bufio.NewReaderSize(Reader(ctx, from, before.Size()), 256<<10)
	begin, err := r.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	to, err := target(o, filepath.Base(path), string(begin) == "#!")
	if err != nil {
		return nil, err
	}
	if err := to.fill(ctx, r, from, before); err != nil {
		return nil, errors.Join(err, to.Close())
	}
	return to, nil
}

// target makes an empty copy.
func target(o Options, name string, script bool) (*File, error) {
	if !o.Private && !script {
		held, err := memoryFile(name)
		if err == nil {
			return &File{held: held, Sealed: true}, nil
		}
		if o.Dir == "" {
			return nil, err
		}
	}
	if o.Dir == "" {
		return nil, errors.New("it needs a private copy, and there is no directory for one")
	}
	info, err := os.Stat(o.Dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() || !safefile.Private(info, 0o077) {
		return nil, fmt.Errorf("%s is not private: it has to be a directory of this user's, mode 0700", o.Dir)
	}
	// The name is kept, as an interpreter shows it, and so is its ending, by which
	// some systems know what runs.
	f, err := os.CreateTemp(o.Dir, "*-"+name)
	if err != nil {
		return nil, err
	}
	return &File{held: f, private: f.Name()}, nil
}

// fill copies what is left to read, hashes it, and makes the copy unchangeable.
func (f *File) fill(ctx context.Context, r io.Reader, from *os.File, before os.FileInfo) error {
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(sum, holes{f.held}), r)
	if err == nil {
		err = f.held.Truncate(n) // a hole at the end was not written
	}
	if err != nil {
		return err
	}
	after, err := from.Stat()
	if err != nil {
		return err
	}
	if n != before.Size() || !safefile.IsSame(before, after) {
		return ErrChanged
	}
	f.SHA256, f.Size = hex.EncodeToString(sum.Sum(nil)), n
	written := f.held
	if f.Sealed {
		f.held, err = seal(written)
	} else {
		f.held, err = nil, written.Chmod(0o500)
	}
	err = errors.Join(err, written.Close())
	if err == nil && f.private != "" {
		err = awaitWriters(ctx, f.private)
	}
	return err
}
