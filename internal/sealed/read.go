package sealed

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/toolhost/toolhost/internal/safefile"
)

// CheckSize refuses a file of more than so many bytes. A sparse file takes no space on its
// disk, and would be read for hours.
func CheckSize(info fs.FileInfo, most int64) error {
	if info.Size() > most {
		return fmt.Errorf("it has %d bytes, more than the %d that a binary may have", info.Size(), most)
	}
	return nil
}

// Open opens a regular file of at most so many bytes for reading, as [safefile.Open] does.
//
// # Errors
//
// Those of [safefile.Open] and [CheckSize].
func Open(path string, most int64) (*os.File, fs.FileInfo, error) {
	f, info, err := safefile.Open(path, os.O_RDONLY)
	if err != nil {
		return nil, nil, err
	}
	if err := CheckSize(info, most); err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// Reader returns a reader of so many bytes, which tries to read one more to notice a file
// that has grown, until its context ends.
//
// # Errors
//
// [ErrChanged] if there are more bytes; the context's cause.
func Reader(ctx context.Context, from io.Reader, size int64) io.Reader {
	return &reading{ctx: ctx, from: from, left: size}
}

type reading struct {
	ctx  context.Context
	from io.Reader
	left int64
}

func (r *reading) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, context.Cause(r.ctx)
	}
	if r.left < 0 {
		return 0, ErrChanged
	}
	n, err := r.from.Read(b[:min(int64(len(b)), r.left+1)])
	r.left -= int64(n)
	return n, err
}
