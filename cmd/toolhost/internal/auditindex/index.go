package auditindex

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/marked"
	"github.com/toolhost/toolhost/internal/safefile"
)

// directoryName is that of the directory of all indexes in the cache.
const directoryName = "toolhost-audit-index"

// Options of an index.
type Options struct {
	// Dir is the user's cache; empty: nothing is remembered, and the whole log is read.
	Dir string
	// Progress is called with how much of the log was read, of how much. Warn is called with a sentence.
	Progress func(done, total int64)
	Warn     func(string)

	// How large a log is that has an index, how much of a file may be read each time, and how much has a segment, in
	// bytes. Replaced by tests; 0: 16, 4 and 32 MiB.
	least, tail, chunk int64
}

// Index is what is known of a log.
type Index struct {
	r        *audit.Reader
	opts     Options
	dir      *marked.Dir
	segments []*segment    // in the order of the log
	rest     []audit.Range // what no segment covers
}

// Open opens the index of a log that is at path and that r reads, and brings it up to date. What fails to be
// remembered is read each time.
//
// # Errors
//
// Those of reading the log; the context's error if it ends.
func Open(ctx context.Context, path string, r *audit.Reader, o Options) (*Index, error) {
	o.least, o.tail, o.chunk = cmp.Or(o.least, 16<<20), cmp.Or(o.tail, 4<<20), cmp.Or(o.chunk, chunk)
	x := &Index{r: r, opts: o}
	parts := r.Parts()
	var total int64
	for _, p := range parts {
		total += p.Size
	}
	name := ""
	if total >= o.least && o.Dir != "" {
		abs, err := filepath.Abs(path)
		if err == nil {
			x.dir, err = marked.Open(o.Dir, directoryName)
		}
		if err != nil {
			x.forgets(err)
		}
		sum := sha256.Sum256([]byte(abs))
		name = hex.EncodeToString(sum[:4])
	}
	current := map[string]bool{}
	var before int64
	for i, p := range parts {
		progress := func(done int64) { o.Progress(before+done, total) }
		at, lines, err := x.cover(ctx, i, p, i == len(parts)-1, name, current, progress)
		if err != nil {
			x.Close()
			return nil, err
		}
		if at < p.Size {
			x.rest = append(x.rest, audit.Range{Part: i, From: at, To: p.Size, Lines: lines})
		}
		before += p.Size
	}
	x.prune(name, current)
	return x, nil
}

// forgets says that nothing is remembered from here on.
func (x *Index) forgets(err error) {
	x.dir = nil
	x.opts.Warn(fmt.Sprintf("the index of the audit log cannot be kept, so that the log is read each time: %v", err))
}

// Close closes the files of the index.
func (x *Index) Close() {
	for _, s := range x.segments {
		_ = s.file.Close()
	}
	if x.dir != nil {
		_ = x.dir.Close()
	}
}

// cover opens or makes the segments of a file of the log, and returns up to where they go.
func (x *Index) cover(
	ctx context.Context, i int, p audit.Part, newest bool, name string, current map[string]bool, progress func(int64),
) (at int64, lines int, err error) {
	first := make([]byte, 512) // the first line's numbers, hash and time
	if n, _ := p.ReadAt(first, 0); n < len(first) {
		return 0, 0, nil // it is short
	}
	sum := sha256.Sum256(first)
	for n := 0; x.dir != nil && at < p.Size; n++ {
		file, end := fmt.Sprintf("%s-%s-%d", name, hex.EncodeToString(sum[:8]), n), int64(n+1)*x.opts.chunk
		current[file] = true
		s, err := x.read(file, i, p)
		if err == nil && (s.From != at || int(s.Before) != lines) {
			_ = s.file.Close()
			s, err = nil, errDamaged
		}
		seen := at
		switch {
		case err == nil:
			seen = s.Seen
		case errors.Is(err, fs.ErrNotExist):
		case errors.Is(err, errOther), errors.Is(err, errDamaged):
			x.opts.Warn(fmt.Sprintf("the index of %s is made again: %v", p.Path, err))
		default:
			x.forgets(err)
			continue
		}
		if left := min(p.Size, end) - seen; left > 0 && (!newest || left >= x.opts.tail) {
			made := &segment{name: file, part: i, header: header{From: at, To: at, Seen: min(p.Size, end), Before: uint32(lines)}, sums: map[slot]*Sum{}}
			if err := made.fill(ctx, x.r, p.Size, end, progress); err != nil {
				return 0, 0, err
			}
			if made = x.keep(made, p); made != nil {
				if s != nil {
					_ = s.file.Close()
				}
				s = made
			}
		}
		if s == nil {
			break
		}
		x.segments = append(x.segments, s)
		if at, lines = s.To, int(s.Before+s.Lines); at < end {
			break
		}
	}
	return at, lines, nil
}

// read opens a segment; nil: that fails.
func (x *Index) read(name string, part int, p audit.Part) (*segment, error) {
	f, err := x.dir.Root().OpenFile(name, os.O_RDONLY|safefile.NoFollow, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = safefile.Regular(info)
	}
	s := &segment{name: name, part: part, file: f}
	if err == nil {
		err = s.decode(info.Size(), p)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return s, nil
}

// keep writes a segment, and opens it; nil: it has no line, or cannot be kept.
func (x *Index) keep(s *segment, p audit.Part) *segment {
	if s.Lines == 0 {
		return nil
	}
	text, err := s.encode(p)
	if err == nil {
		err = x.write(s.name, text)
	}
	kept := (*segment)(nil)
	if err == nil {
		kept, err = x.read(s.name, s.part, p)
	}
	if err != nil {
		x.forgets(err)
	}
	return kept
}

// write puts a file in place of the one that may be there, in one step.
func (x *Index) write(name string, text []byte) error {
	root, temp := x.dir.Root(), marked.Temporary+rand.Text()
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text) // not synced: what a power cut tears has another checksum
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
	}
	return err
}

// unused is how long the index of another log is kept after it was last made.
const unused = 30 * 24 * time.Hour

var segmentName = lazy.Regexp(`^[0-9a-f]{8}-[0-9a-f]{16}-[0-9]+$`)

// prune removes the segments of files that the log no longer has, and of logs that are not asked about.
func (x *Index) prune(name string, current map[string]bool) {
	if x.dir == nil {
		return
	}
	all, _ := fs.ReadDir(x.dir.Root().FS(), ".")
	for _, e := range all {
		ours, temp := segmentName().MatchString(e.Name()), strings.HasPrefix(e.Name(), marked.Temporary)
		if !ours && !temp || current[e.Name()] {
			continue
		}
		info, err := e.Info()
		old := err == nil && time.Since(info.ModTime()) > unused
		if temp && err == nil {
			old = time.Since(info.ModTime()) > time.Hour
		}
		if ours && strings.HasPrefix(e.Name(), name+"-") || old {
			_ = x.dir.Root().Remove(e.Name())
		}
	}
}

// where returns the places of zones that are wanted, and what no segment covers, in the order of the log.
func (x *Index) where(wanted func(*zone) bool) (all []audit.Range) {
	for _, s := range x.segments {
		for i := 0; i < len(s.zones); i++ {
			from := i
			for i < len(s.zones) && wanted(&s.zones[i]) {
				i++
			}
			if from < i {
				all = append(all, s.place(from, i))
			}
		}
	}
	return inOrder(append(all, x.rest...))
}

func inOrder(all []audit.Range) []audit.Range {
	slices.SortFunc(all, func(a, b audit.Range) int { return cmp.Or(cmp.Compare(a.Part, b.Part), cmp.Compare(a.From, b.From)) })
	return all
}

// covers reports whether a segment covers a place.
func (x *Index) covers(part int, offset int64) bool {
	return !slices.ContainsFunc(x.rest, func(r audit.Range) bool { return r.Part == part && r.From <= offset && offset < r.To })
}

// passes reports whether lines that pass the filter may stand in a zone.
func passes(z *zone, f *audit.Filter) bool {
	bit := func(in uint64, name string) bool { return name == "" || in&bitOf(name) != 0 }
	code := string(f.Code)
	switch {
	case z.Bad > 0: // a reader should hear of them
		return true
	case !f.Since.IsZero() && z.Newest < f.Since.UnixMicro(), !f.Until.IsZero() && z.Oldest > f.Until.UnixMicro(),
		z.Slowest < int64(f.SlowerThan), !bit(z.Tools, f.Tool), !bit(z.Callers, f.Caller),
		f.Code == audit.CodeOK && z.Codes&bitOf("") == 0, f.Code != audit.CodeOK && !bit(z.Codes, code):
		return false
	}
	return true
}

// Places returns where lines that pass the filter may stand.
func (x *Index) Places(f audit.Filter) []audit.Range {
	return x.where(func(z *zone) bool { return passes(z, &f) })
}

// search yields the entries in these places that pass the filter, without lines that are not records.
func (x *Index) search(ctx context.Context, f audit.Filter, in ...audit.Range) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) {
		for e, err := range x.r.Search(ctx, f, in...) {
			var invalid *audit.Break
			if !errors.As(err, &invalid) && !yield(e, err) {
				return
			}
		}
	}
}

// begins returns where lines of calls may stand whose IDs begin so.
func (x *Index) begins(id string) []audit.Range {
	low := keyOf(id[:min(4, len(id))]) &^ math.MaxUint32
	return x.find(low, low|(math.MaxUint64>>(8*min(4, len(id)))))
}

// find returns where lines of calls with keys from low to high may stand, and of calls that were made in them.
func (x *Index) find(low, high uint64) (all []audit.Range) {
	for _, s := range slices.Clone(x.segments) {
		zones, err := s.find(low, high)
		if err != nil {
			x.drop(s, err)
		}
		for _, i := range zones {
			all = append(all, s.place(i, i+1))
		}
	}
	return inOrder(append(all, x.rest...))
}

// drop removes a segment that turns out to be damaged. What it covers is read, and the next question makes it again.
func (x *Index) drop(s *segment, err error) {
	x.opts.Warn(fmt.Sprintf("the index of the audit log is made again the next time: %v", err))
	_ = x.dir.Root().Remove(s.name)
	_ = s.file.Close()
	x.segments = slices.DeleteFunc(x.segments, func(other *segment) bool { return other == s })
	x.rest = append(x.rest, s.whole())
}

// Slowest returns the n slowest calls that pass the filter, the slowest first.
func (x *Index) Slowest(ctx context.Context, f audit.Filter, n int) (top []audit.Entry, err error) {
	type place struct {
		audit.Range
		slowest int64
	}
	var all []place
	for _, r := range x.rest {
		all = append(all, place{r, math.MaxInt64})
	}
	for _, s := range x.segments {
		for i := range s.zones {
			if passes(&s.zones[i], &f) {
				all = append(all, place{s.place(i, i+1), s.zones[i].Slowest})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b place) int { return cmp.Compare(b.slowest, a.slowest) })
	f.Events = []string{audit.End}
	for _, p := range all {
		if len(top) == n && p.slowest < int64(f.SlowerThan) {
			break
		}
		for e, err := range x.search(ctx, f, p.Range) {
			if err != nil {
				return nil, err
			}
			top = append(top, e)
		}
		slices.SortFunc(top, func(a, b audit.Entry) int {
			return cmp.Or(cmp.Compare(b.Duration, a.Duration), cmp.Compare(a.Seq, b.Seq))
		})
		if len(top) >= n {
			top = top[:n]
			f.SlowerThan = time.Duration(top[n-1].Duration)
		}
	}
	return top, nil
}
