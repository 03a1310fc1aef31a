package audit

import (
	"context"
	"iter"
	"slices"
)

// Tail yields the last n lines of a log, the oldest first. A line that is no
// record is an error of type *[Break]; any other error is the last.
//
// # Errors
//
// [fs.ErrNotExist] where there is no log; the context's, where it ends.
func Tail(ctx context.Context, path string, n int) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		s, err := openSnapshot(ctx, path)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		defer s.close()
		last, err := s.tail(ctx, n)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for i := range last {
			if !yield(readEntry(last[i].path, &last[i].line)) {
				return
			}
		}
	}
}

// placed is a line, and the file that has it.
type placed struct {
	path string
	line line
}

// tail is the last n lines of all parts. Older files are only read where the
// newer ones do not have as many.
func (s *snapshot) tail(ctx context.Context, n int) ([]placed, error) {
	var out []placed
	for i := len(s.parts) - 1; i >= 0 && len(out) < n; i-- {
		last, err := s.parts[i].tail(ctx, n-len(out))
		if err != nil {
			return nil, failed(s.parts[i].path, "read", err)
		}
		out = append(last, out...)
	}
	return out, nil
}

// tail is the last n lines, n > 0, of a part.
func (p *part) tail(ctx context.Context, n int) ([]placed, error) {
	var ring []placed // its slots are used again and again
	oldest := 0
	lines := p.lines(ctx)
	for {
		l, err := lines.next()
		if err != nil {
			return nil, err
		}
		if l == nil {
			return slices.Concat(ring[oldest:], ring[:oldest]), nil
		}
		if len(ring) < n {
			ring = append(ring, placed{p.path, l.copy(nil)})
			continue
		}
		ring[oldest].line = l.copy(ring[oldest].line.text)
		oldest = (oldest + 1) % n
	}
}
