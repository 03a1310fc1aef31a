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
	// Call is the ID of a call, or the beginning of it. Parent is the ID of the call in which calls were made.
	Call, Parent string
	// Code is why a call failed, or [CodeOK]. It leaves begin lines out.
	Code tool.Code
	// Events are the events of lines, any of them; none: all.
	Events []string
	// Since is the earliest time, and Until the latest; zero: none.
	Since, Until time.Time
	// SlowerThan is how long calls took at least. Phase is where they spent most of their time, as [Record.Spent]
	// has it. Both leave all but end lines out.
	SlowerThan time.Duration
	Phase      string
	// Text is in a text of the record or in its input, in upper or lower case.
	Text string
	// Unended chooses the begin lines of calls that have no end line: they are in progress, or
	// their host was killed. Of more than 10,000 the newest are found.
	Unended bool
	// Limit leaves out all but the newest entries; 0: none. Lines that are not records do not count.
	Limit int
	// Follow has the search go on with each new entry, also of the files that follow, until the context ends,
	// and wait for a log that is not there yet. It does not go with Unended.
	Follow bool
}

func (f *Filter) match(e *Entry) bool {
	switch {
	case f.Tool != "" && e.Tool != f.Tool,
		f.Caller != "" && e.Caller != f.Caller,
		f.Account != "" && e.Account != f.Account,
		f.Via != "" && e.Via != f.Via,
		!strings.HasPrefix(e.Client, f.Client),
		!strings.HasPrefix(e.Session, f.Session),
		!strings.HasPrefix(e.Call, f.Call),
		f.Parent != "" && e.Parent != f.Parent,
		time.Duration(e.Duration) < f.SlowerThan,
		e.Time.Before(f.Since), !f.Until.IsZero() && e.Time.After(f.Until),
		len(f.Events) > 0 && !slices.Contains(f.Events, e.Event):
		return false
	case f.Code == CodeOK && (e.Event != End || e.Code != ""),
		f.Code != "" && f.Code != CodeOK && (e.Event != End || e.Code != f.Code),
		f.Phase != "" && e.Longest() != f.Phase:
		return false
	}
	if f.Text == "" {
		return true
	}
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(f.Text)) }
	return slices.ContainsFunc([]string{
		e.Action, e.Object, e.Tool, e.Message,
		string(e.Input), string(e.AskedInput), e.Plugin, e.Caller, e.Account, e.Via, e.Client, e.Session, e.Call, e.Parent, e.Trace, e.Approver, string(e.Code), e.Decision,
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
// [fs.ErrNotExist] if there is no log; the context's error if it ends. With Follow neither is one.
func Search(ctx context.Context, path string, filter Filter) iter.Seq2[Entry, error] {
	if filter.Follow {
		return followed(ctx, path, &filter)
	}
	return func(yield func(Entry, error) bool) {
		s, err := openSnapshot(ctx, path)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		defer s.close()
		w := newWalk(&filter)
		more := true
		if err = s.begin(ctx, w); err == nil {
			more, err = s.walk(ctx, w, yield)
		}
		if err != nil && more {
			yield(Entry{}, err)
		}
	}
}

// walk is a way through a log, of one search or of all that a follower looks at.
type walk struct {
	filter *Filter
	sieve  *sieve
	at     position
	skip   int // entries that pass the filter and are older than the newest that are wanted
}

func newWalk(filter *Filter) *walk { return &walk{filter: filter, sieve: newSieve(filter)} }

// walk yields what passes the filter from the walk's position on, which it advances. More is
// false when no more is wanted.
func (s *snapshot) walk(ctx context.Context, w *walk, yield func(Entry, error) bool) (more bool, err error) {
	if w.filter.Unended {
		return s.unended(ctx, w, yield)
	}
	more = true
	err = s.each(ctx, &w.at, func(p *part, l *line) bool {
		if _, ok := parseLink(l.text); ok && !l.long && !w.sieve.passes(l.text) {
			return true
		}
		e, err := readEntry(p.path, l)
		switch {
		case err == nil && !w.filter.match(&e):
		case w.skip == 0:
			more = yield(e, err)
		case err == nil:
			w.skip--
		}
		return more
	})
	return more, err
}

// begin moves a walk to where it begins: before this, nothing passes the filter, or enough passes
// it after this.
func (s *snapshot) begin(ctx context.Context, w *walk) (err error) {
	limit := w.filter.Limit
	if w.filter.Unended {
		limit = 0
	}
	if limit <= 0 && w.filter.Since.IsZero() {
		return nil
	}
	found, older := 0, 0
	w.at, err = s.last(ctx, func(p *part, text []byte) bool {
		if older++; !w.sieve.older(text) {
			older = 0
		}
		if limit > 0 && older == 0 && len(text) < maxLine && w.sieve.passes(text) {
			if e, err := readEntry(p.path, &line{text: text, ended: true}); err == nil && w.filter.match(&e) {
				found++
			}
		}
		return older >= maxDisorder || limit > 0 && found >= limit
	})
	if err == nil && w.at.file != nil && found < limit { // a file that is read from its beginning may have more
		count, passing := *w, 0
		_, err = s.walk(ctx, &count, func(_ Entry, err error) bool {
			if err == nil {
				passing++
			}
			return true
		})
		w.skip = max(0, passing-limit)
	}
	return err
}

// maxUnended bounds how many calls without an end are remembered; of more, the newest.
const maxUnended = 10_000

// unended yields the begin lines, which pass the filter, of calls without an end line.
func (s *snapshot) unended(ctx context.Context, w *walk, yield func(Entry, error) bool) (more bool, err error) {
	open, more := map[string]Entry{}, true
	err = s.each(ctx, &w.at, func(p *part, l *line) bool {
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
		} else if w.filter.match(&e) {
			open[string(call)] = e
			if len(open) >= 2*maxUnended {
				for _, old := range oldestFirst(open)[:maxUnended] {
					delete(open, string(appendText(nil, old.Call, maxText)))
				}
			}
		}
		return more
	})
	all := oldestFirst(open)
	most := maxUnended
	if w.filter.Limit > 0 {
		most = min(most, w.filter.Limit)
	}
	for _, e := range all[max(0, len(all)-most):] {
		if more = more && yield(e, nil); !more {
			break
		}
	}
	return more, err
}

func oldestFirst(open map[string]Entry) []Entry {
	return slices.SortedFunc(maps.Values(open), func(a, b Entry) int { return cmp.Compare(a.Seq, b.Seq) })
}
