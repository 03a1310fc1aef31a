package mcpstdio

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// input returns what is read from a file, which may be the same as others. It ends
// when it is closed, also while it is read, as a file need not.
func input(f *os.File, others ...*os.File) io.ReadCloser {
	if in := polled(f, others...); in != nil {
		return in
	}
	r, w := io.Pipe()
	go func() { // until the input ends, or this process
		_, err := io.Copy(w, f)
		_ = w.CloseWithError(err)
	}()
	return struct {
		io.Reader
		io.Closer
	}{r, w}
}

// polled returns the same pipe or socket as f, for whose bytes the runtime waits; nil: f is
// something else, or one of others, whose writes would no longer wait. For bytes of f itself a
// thread waits in a system call, and keeps a processor that the request before could run on.
func polled(f *os.File, others ...*os.File) io.ReadCloser {
	about, err := f.Stat()
	if err != nil || about.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
		return nil
	}
	for _, other := range others {
		if that, err := other.Stat(); err == nil && os.SameFile(about, that) {
			return nil
		}
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil
	}
	return &polledFile{File: os.NewFile(uintptr(fd), f.Name()), of: f} //nolint:gosec // descriptors are not negative
}

// polledFile shares with the file that it is of whether reading blocks.
type polledFile struct {
	*os.File
	of      *os.File
	closing sync.Once
	err     error
}

// Read implements [io.Reader].
func (p *polledFile) Read(b []byte) (int, error) {
	n, err := p.File.Read(b)
	if errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	return n, err
}

// Close implements [io.Closer]. It leaves the pipe as it was.
func (p *polledFile) Close() error {
	p.closing.Do(func() {
		p.err = p.File.Close()
		_ = unix.SetNonblock(int(p.of.Fd()), false) //nolint:gosec // descriptors are small
	})
	return p.err
}
