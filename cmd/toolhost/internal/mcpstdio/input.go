package mcpstdio

import (
	"io"
	"os"
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
