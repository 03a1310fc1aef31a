package audit

import (
	"context"
	"io"
	"iter"
)

// Reader reads any part of a log as it was when the reader was opened, for those who remember where what is.
type Reader struct {
	// Progress is called now and then with the place that is read, and the offset up to which it was. Default: none.
	Progress func(in Range, offset int64)

	s *snapshot
}

// OpenReader opens a log.
//
// # Errors
//
// [fs.ErrNotExist] if there is none; the context's error if it ends.
func OpenReader(ctx context.Context, path string) (*Reader, error) {
	s, err := openSnapshot(ctx, path)
	if err != nil {
		return nil, err
	}
	return &Reader{s: s}, nil
}

// Close closes the files.
func (r *Reader) Close() { r.s.close() }

// Part is one file of a log.
type Part struct {
	io.ReaderAt
	Path string
	Size int64
}

// Parts returns the files of the log, the oldest first.
func (r *Reader) Parts() []Part {
	var all []Part
	for _, p := range r.s.parts {
		all = append(all, Part{p.file, p.path, p.info.Size()})
	}
	return all
}

// Range is a place in a part, which begins with a line: behind Lines others, from the offset From to To.
type Range struct {
	Part     int
	From, To int64
	Lines    int
}

// Line is a line that a [Reader] has found, from its offset to End, with the newline. It is valid until the next one.
type Line struct {
	Entry
	Part        int
	Offset, End int64
	Ended       bool // by a newline
}

// Lines yields the lines of these places that pass the filter, whose Limit, Follow and Unended do not count. Only
// if the filter has a text, their records have more than Time, Event, the names, Duration, Phases, Code and Refusals.
// A line that is not a record comes with an error of type *[Break]; any other error ends it.
func (r *Reader) Lines(ctx context.Context, filter Filter, in ...Range) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		if err := r.each(ctx, &filter, in, func(_ string, _ *line, at Line, err error) bool { return yield(at, err) }); err != nil {
			yield(Line{}, err)
		}
	}
}

// Search is [Search] in these places. Limit, Follow and Unended do not count.
func (r *Reader) Search(ctx context.Context, filter Filter, in ...Range) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		err := r.each(ctx, &filter, in, func(path string, l *line, _ Line, err error) bool {
			var e Entry
			if err == nil {
				e, err = readEntry(path, l)
			}
			return yield(e, err)
		})
		if err != nil {
			yield(Entry{}, err)
		}
	}
}

// each calls do with the lines of places that pass the filter, and those that are not records, until it returns false.
func (r *Reader) each(ctx context.Context, filter *Filter, in []Range, do func(string, *line, Line, error) bool) error {
	p, sieve := parser{names: map[string]string{}}, newSieve(filter)
	for _, place := range in {
		part := &r.s.parts[place.Part]
		lines := newLines(ctx, io.NewSectionReader(part.file, place.From, place.To-place.From), place.From)
		lines.number = place.Lines
		for n := 0; ; n++ {
			at := Line{Part: place.Part, Offset: lines.offset}
			l, err := lines.next()
			if err != nil {
				return failed(part.path, "read", err)
			}
			if l == nil {
				break
			}
			if n%1000 == 0 && r.Progress != nil {
				r.Progress(place, at.Offset)
			}
			if at.End, at.Ended = lines.offset, l.ended; l.endless {
				at.End = place.To
			}
			_, ok := parseLink(l.text)
			if ok && !l.long && !sieve.passes(l.text) {
				continue
			}
			var invalid error
			if filter.Text != "" || l.long || !p.parse(l.text, &at.Entry) {
				at.Entry, invalid = readEntry(part.path, l)
			}
			if (invalid != nil || filter.match(&at.Entry)) && !do(part.path, l, at, invalid) {
				return nil
			}
		}
	}
	return nil
}
