package pluginsource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/toolhost/toolhost/internal/address"
	"github.com/toolhost/toolhost/internal/deadline"
)

// maxTries is how often a server that cuts off is asked again without having sent anything more.
const maxTries = 5

// open opens content at an offset.
type open func(ctx context.Context, offset int64) (io.ReadCloser, error)

// resuming reads content of a known size from a server that may cut off: then it goes on where it
// was. It never reads more than one byte too many.
type resuming struct {
	ctx      context.Context //nolint:containedctx // of the whole transfer
	open     open
	what     string
	size     int64
	endless  bool // the size is not known, and bounded by size
	offset   int64
	body     io.ReadCloser
	tries    int // since the last byte
	progress func(done, size int64)
}

func (r *resuming) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		n, err := r.attempt(p)
		switch {
		case n > 0:
			r.offset += int64(n)
			r.tries = 0
			if r.progress != nil {
				r.progress(min(r.offset, r.size), r.size)
			}
			return n, nil
		case (r.offset >= r.size || r.endless) && errors.Is(err, io.EOF):
			return 0, io.EOF
		case err == nil:
			continue
		}
		r.drop()
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("the server ended it after %d of %d bytes", r.offset, r.size)
		}
		if r.tries++; permanent(err) || r.tries >= maxTries {
			return 0, fmt.Errorf("%s: %w", r.what, err)
		}
		if err := pause(r.ctx, r.tries); err != nil {
			return 0, err
		}
	}
}

// attempt reads once.
func (r *resuming) attempt(p []byte) (int, error) {
	if r.body == nil {
		body, err := r.open(r.ctx, r.offset)
		if err != nil {
			return 0, err
		}
		r.body = body
	}
	if left := r.size - r.offset + 1; int64(len(p)) > left { // one more shows that it is longer
		p = p[:left]
	}
	n, err := r.body.Read(p)
	if n > 0 && r.offset+int64(n) > r.size {
		return 0, &refusedError{fmt.Sprintf("the server sends more than the %d bytes that were declared", r.size)}
	}
	return n, err
}

func (r *resuming) drop() {
	if r.body != nil {
		_ = r.body.Close()
		r.body = nil
	}
}

func (r *resuming) Close() error {
	r.drop()
	return nil
}

// again does what may fail by an accident, until it succeeds or has failed too often.
func again(ctx context.Context, do func() error) error {
	for tries := 1; ; tries++ {
		err := do()
		if err == nil || permanent(err) || tries >= maxTries {
			return err
		}
		if err := pause(ctx, tries); err != nil {
			return err
		}
	}
}

// pause waits longer after each try.
func pause(ctx context.Context, tries int) error {
	if !deadline.Sleep(ctx, min(100*time.Millisecond<<tries, 3*time.Second)) {
		return ctx.Err()
	}
	return nil
}

// statusOf is the HTTP status that an error has; 0: none.
func statusOf(err error) int {
	if answer, ok := errors.AsType[*errcode.ErrorResponse](err); ok {
		return answer.StatusCode
	}
	return 0
}

// permanent reports whether an error is the answer, and no accident on the way.
func permanent(err error) bool {
	var refused *refusedError
	var near *address.NearError
	status := statusOf(err)
	return errors.As(err, &refused) || errors.As(err, &near) || errors.Is(err, errStalled) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, errdef.ErrNotFound) ||
		0 < status && status < http.StatusInternalServerError && status != http.StatusTooManyRequests
}
