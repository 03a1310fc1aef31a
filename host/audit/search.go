package audit

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// CodeOK stands in a [Filter] for calls that succeeded.
const CodeOK tool.Code = "ok"

// Filter chooses entries. Conditions that are given all have to hold.
type Filter struct {
	// Tool is a tool's whole name.
	Tool string
	// Caller is a caller's whole name.
	Caller string
	// Account is the whole name of who answers for the caller.
	Account string
	// Via is how calls came in, such as "mcp".
	Via string
	// Client is the beginning of what the program that made the calls calls itself.
	Client string
	// Session is a session's ID, or the beginning of it.
	Session string
	// Code is why a call failed, or [CodeOK]. It leaves begin lines out.
	Code tool.Code
	// Since is the earliest time.
	Since time.Time
	// Text is in a text of the record or in its input, in upper or lower case.
	Text string
	// Unended chooses the begin lines of calls that have no end line: they are in progress, or
	// their host was killed. Of more than 10,000 the newest are found.
	Unended bool
	// Limit leaves out all but the newest entries; 0: none.
	Limit int
}

func (f *Filter) match(e *Entry) bool {
	switch {
	case f.Tool != "" && e.Tool != f.Tool,
		f.Caller != "" && e.Caller != f.Caller,
		f.Account != "" && e.Account != f.Account,
		f.Via != "" && e.Via != f.Via,
		!strings.HasPrefix(e.Client, f.Client),
		!strings.HasPrefix(e.Session, f.Session),
		e.Time.Before(f.Since):
		return false
	case f.Code == CodeOK && (e.Event != End || e.Code != ""),
		f.Code != "" && f.Code != CodeOK && (e.Event != End || e.Code != f.Code):
		return false
	}
	if f.Text == "" {
		return true
	}
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(f.Text)) }
	return slices.ContainsFunc([]string{
		e.Tool, e.Message, string(e.Input), string(e.AskedInput), e.Plugin, e.Caller, e.Account, e.Via, e.Client, e.Session, e.Call, e.Approver, string(e.Code), e.Decision,
	}, has)
}

// maxDisorder is after how many lines in a row from before the earliest time a search takes all
// lines before them for older too. Lines are nearly in the order of their times: each process may
// have kept 1,024 of them in memory while the log was locked.
const maxDisorder = 10_000

// Search yields the entries that pass the filter, the oldest first, from all files of the log. A
// line that is not a record is an error of type *[Break], after which the search goes on; any
// other error ends it. With Since or Limit it reads the log from its end, and no more of it than
// it has to: if the clock was set back so that more than 10,000 lines in a row have times before
// Since, it does not find those before them.
//
// # Errors
//
// [fs.ErrNotExist] if there is no log; the context's error if it ends.
func Search(ctx context.Context, path string, filter Filter) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		s, err := openSnapshot(ctx, path)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		defer s.close()
		if filter.Unended {
			s.searchUnended(ctx, &filter, yield)
		} else {
			s.search(ctx, &filter, yield)
		}
	}
}

func (s *snapshot) search(ctx context.Context, filter *Filter, yield func(Entry, error) bool) {
	sieve := newSieve(filter)
	at, err := s.begin(ctx, filter, sieve)
	if err != nil {
		yield(Entry{}, err)
		return
	}
	var newest []Entry // twice the limit at most
	more := true
	err = s.each(ctx, &at, func(p *part, l *line) bool {
		if _, ok := parseLink(l.text); ok && !l.long && !sieve.passes(l.text) {
			return true
		}
		e, err := readEntry(p.path, l)
		switch {
		case err == nil && !filter.match(&e):
		case err != nil || filter.Limit <= 0:
			more = yield(e, err)
		default:
			if newest = append(newest, e); len(newest) == 2*filter.Limit {
				newest = append(newest[:0], newest[filter.Limit:]...)
			}
		}
		return more
	})
	for _, e := range newest[max(0, len(newest)-filter.Limit):] {
		if more = more && yield(e, nil); !more {
			return
		}
	}
	if err != nil {
		yield(Entry{}, err)
	}
}

// begin returns where a search begins: before this, nothing passes the filter, or enough passes
// it after this.
func (s *snapshot) begin(ctx context.Context, filter *Filter, sieve *sieve) (position, error) {
	limited := filter.Limit > 0 && !filter.Unended
	if !limited && filter.Since.IsZero() {
		return position{}, nil
	}
	found, older := 0, 0
	return s.last(ctx, func(p *part, text []byte) bool {
		if older++; !sieve.older(text) {
			older = 0
		}
		if limited && older == 0 && len(text) < maxLine && sieve.passes(text) {
			if e, err := readEntry(p.path, &line{text: text, ended: true}); err == nil && filter.match(&e) {
				found++
			}
		}
		return older >= maxDisorder || limited && found >= filter.Limit
	})
}

// maxUnended bounds how many calls without an end are remembered; of more, the newest.
const maxUnended = 10_000

// searchUnended yields the begin lines, which pass the filter, of calls without an end line.
func (s *snapshot) searchUnended(ctx context.Context, filter *Filter, yield func(Entry, error) bool) {
	at, err := s.begin(ctx, filter, newSieve(filter))
	if err != nil {
		yield(Entry{}, err)
		return
	}
	open, more := map[string]Entry{}, true
	err = s.each(ctx, &at, func(p *part, l *line) bool {
		event, call := eventOf(l.text)
		switch {
		case string(event) == End:
			delete(open, string(call))
			return true
		case string(event) != Begin:
			return true
		}
		e, err := readEntry(p.path, l)
		if err != nil {
			more = yield(e, err)
		} else if filter.match(&e) {
			open[string(call)] = e
			if len(open) >= 2*maxUnended {
				for _, old := range oldestFirst(open)[:maxUnended] {
					delete(open, string(appendText(nil, old.Call, MaxText)))
				}
			}
		}
		return more
	})
	all := oldestFirst(open)
	most := maxUnended
	if filter.Limit > 0 {
		most = min(most, filter.Limit)
	}
	for _, e := range all[max(0, len(all)-most):] {
		if more = more && yield(e, nil); !more {
			return
		}
	}
	if err != nil {
		yield(Entry{}, err)
	}
}

func oldestFirst(open map[string]Entry) []Entry {
	return slices.SortedFunc(maps.Values(open), func(a, b Entry) int { return cmp.Compare(a.Seq, b.Seq) })
}

// Tail yields the last n lines of a log, the oldest first. A line that is not a record is
// an error of type *[Break]; any other error is the last.
//
// # Errors
//
// Those of [Search].
func Tail(ctx context.Context, path string, n int) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		s, err := openSnapshot(ctx, path)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		defer s.close()
		last, err := s.tail(ctx, n, new(position))
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

// placed is a line with its file.
type placed struct {
	path string
	line line
}

// tail returns the last n lines, and moves the position to the end of the log if n > 0.
// Older files are only read if the newer ones have too few lines.
func (s *snapshot) tail(ctx context.Context, n int, end *position) ([]placed, error) {
	var out []placed
	for i := len(s.parts) - 1; i >= 0 && len(out) < n; i-- {
		one := &snapshot{parts: s.parts[i : i+1]}
		var ring []placed // its slots are used again and again
		oldest, room := 0, n-len(out)
		at := &position{following: end.following}
		err := one.each(ctx, at, func(p *part, l *line) bool {
			if len(ring) < room {
				ring = append(ring, placed{p.path, l.copy(nil)})
				return true
			}
			ring[oldest].line = l.copy(ring[oldest].line.text)
			oldest = (oldest + 1) % room
			return true
		})
		if err != nil {
			return nil, err
		}
		if i == len(s.parts)-1 {
			*end = *at
		}
		out = slices.Concat(ring[oldest:], ring[:oldest], out)
	}
	return out, nil
}
