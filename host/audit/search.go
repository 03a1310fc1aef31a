package audit

import (
	"context"
	"iter"
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
	// Caller is a caller's ID, or the beginning of it.
	Caller string
	// Code is why a call failed, or [CodeOK]. It leaves begin lines out.
	Code tool.Code
	// Since is the earliest time.
	Since time.Time
	// Text is in a text of the record or in its input, in upper or lower case.
	Text string
	// Limit leaves out all but the newest entries; 0: none.
	Limit int
}

func (f *Filter) match(e *Entry) bool {
	switch {
	case f.Tool != "" && e.Tool != f.Tool,
		f.Caller != "" && !strings.HasPrefix(e.Session, f.Caller),
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
		e.Tool, e.Message, string(e.Input), string(e.AskedInput), e.Plugin, e.Session, e.Call, e.Approver, string(e.Code), e.Decision,
	}, has)
}

// Search yields the entries that pass the filter, the oldest first, from all
// files of the log. A line that is no record is an error of type *[Break], and
// the search goes on behind it; any other error ends it.
//
// # Errors
//
// [fs.ErrNotExist] where there is no log; the context's, where it ends.
func Search(ctx context.Context, path string, filter Filter) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		s, err := openSnapshot(ctx, path)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		defer s.close()
		if filter.Limit <= 0 {
			s.search(ctx, filter, yield)
			return
		}
		var newest []Entry // twice the limit at most
		more := s.search(ctx, filter, func(e Entry, err error) bool {
			if err != nil {
				return yield(Entry{}, err)
			}
			if newest = append(newest, e); len(newest) == 2*filter.Limit {
				newest = append(newest[:0], newest[filter.Limit:]...)
			}
			return true
		})
		newest = newest[max(0, len(newest)-filter.Limit):]
		for i := 0; more && i < len(newest); i++ {
			more = yield(newest[i], nil)
		}
	}
}

// search yields matching entries and errors of all parts. False: no more is
// wanted, or can be had.
func (s *snapshot) search(ctx context.Context, filter Filter, yield func(Entry, error) bool) bool {
	for i := range s.parts {
		if !s.parts[i].search(ctx, filter, yield) {
			return false
		}
	}
	return true
}

func (p *part) search(ctx context.Context, filter Filter, yield func(Entry, error) bool) bool {
	lines := p.lines(ctx)
	for {
		l, err := lines.next()
		if err != nil {
			yield(Entry{}, failed(p.path, "read", err))
			return false
		}
		if l == nil {
			return true
		}
		e, err := readEntry(p.path, l)
		if err == nil && !filter.match(&e) {
			continue
		}
		e.Raw = slices.Clone(e.Raw)
		if !yield(e, err) {
			return false
		}
	}
}
