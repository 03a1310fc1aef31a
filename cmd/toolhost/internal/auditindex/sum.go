package auditindex

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Sum is what calls sum up to: each element is one of the fields below.
type Sum [fields]int64

// The fields of a [Sum].
const (
	Calls = iota
	Failed
	Time // ns
	Longest
	BytesIn
	BytesOut
	Tokens
	lines // which Time and the buckets are of
	buckets
	fields = buckets + 12
)

// bounds are the upper bounds of the buckets; the last has none.
var bounds = [...]time.Duration{
	100 * time.Microsecond, 300 * time.Microsecond, time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond,
	100 * time.Millisecond, 300 * time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second,
}

// count adds the end of a call.
func (s *Sum) count(e *audit.Entry) {
	calls := max(1, int64(e.Refusals))
	s[Calls] += calls
	if e.Code != "" {
		s[Failed] += calls
	}
	s[lines]++
	took := time.Duration(e.Duration)
	s[Time] += int64(took)
	s[Longest] = max(s[Longest], int64(took))
	bucket, _ := slices.BinarySearch(bounds[:], took)
	s[buckets+bucket]++
	if p := e.Phases; p != nil {
		s[BytesIn] += int64(p.BytesIn)
		s[BytesOut] += int64(p.BytesOut)
		s[Tokens] += int64(p.EstimatedTokens)
	}
}

// add adds another sum.
func (s *Sum) add(other *Sum) {
	longest := max(s[Longest], other[Longest])
	for i, v := range other {
		s[i] += v
	}
	s[Longest] = longest
}

// Quantile returns the duration that a share of the calls does not exceed, estimated within the bucket.
func (s *Sum) Quantile(q float64) time.Duration {
	rank := q * float64(s[lines])
	for i, n := range s[buckets:] {
		if n == 0 || rank > float64(n) {
			rank -= float64(n)
			continue
		}
		low, high := time.Duration(0), time.Duration(s[Longest])
		if i > 0 {
			low = bounds[i-1]
		}
		if i < len(bounds) {
			high = min(high, bounds[i])
		}
		return low + time.Duration(rank/float64(n)*float64(high-low))
	}
	return time.Duration(s[Longest])
}

// Row is the sum of the calls with these values.
type Row struct {
	Values []string
	Sum    Sum
}

// column is what calls can be summed up by. An indexed one is part of a slot.
type column struct {
	name    string
	indexed bool
	layout  string // of times, in place of the function
	of      func(*audit.Entry) string
}

var columns = []column{
	{"tool", true, "", func(e *audit.Entry) string { return e.Tool }},
	{"caller", true, "", func(e *audit.Entry) string { return e.Caller }},
	{"code", true, "", func(e *audit.Entry) string { return cmp.Or(string(e.Code), string(audit.CodeOK)) }},
	{"hour", true, "2006-01-02T15:00Z07:00", nil},
	{"day", true, time.DateOnly, nil},
	{"plugin", false, "", func(e *audit.Entry) string { return e.Plugin }},
	{"client", false, "", func(e *audit.Entry) string { return e.Client }},
	{"account", false, "", func(e *audit.Entry) string { return e.Account }},
	{"session", false, "", func(e *audit.Entry) string { return e.Session }},
	{"via", false, "", func(e *audit.Entry) string { return e.Via }},
	{"phase", false, "", func(e *audit.Entry) string { return e.Longest() }},
}

// byQuarter returns the names of hours or days, of which each quarter of an hour has one.
func byQuarter(layout string) func(*audit.Entry) string {
	known := map[int64]string{}
	return func(e *audit.Entry) string {
		q := quarterOf(e.Time)
		name, ok := known[q]
		if !ok {
			name = start(q).Local().Format(layout)
			if len(known) < maxRows {
				known[q] = name
			}
		}
		return name
	}
}

// Columns returns the names of what calls can be summed up by.
func Columns() (names []string) {
	for _, c := range columns {
		names = append(names, c.name)
	}
	return names
}

// maxRows bounds the rows of a sum. What comes after is in one row, whose values are all [Others].
const maxRows = 100_000

// Others stands for the calls of all further rows.
const Others = "(others)"

// MaxColumns bounds the columns of one sum.
const MaxColumns = 6

// summary adds up calls by columns.
type summary struct {
	by   []column
	rows map[[MaxColumns]string]*Row
}

func (s *summary) row(e *audit.Entry) *Sum {
	var values [MaxColumns]string
	for i, c := range s.by {
		values[i] = c.of(e)
	}
	row := s.rows[values]
	if row == nil && len(s.rows) >= maxRows {
		for i := range s.by {
			values[i] = Others
		}
		row = s.rows[values]
	}
	if row == nil {
		row = &Row{Values: slices.Clone(values[:len(s.by)])}
		s.rows[values] = row
	}
	return &row.Sum
}

// Sum returns the sums of the calls that pass the filter by [Columns], in no order, and how many lines of the log are
// not records.
func (x *Index) Sum(ctx context.Context, f audit.Filter, by []string) (rows []*Row, bad int, err error) {
	s := summary{rows: map[[MaxColumns]string]*Row{}}
	indexed := f.SlowerThan == 0 && f.Phase+f.Text+f.Account+f.Via+f.Client+f.Session+f.Call+f.Parent == ""
	for _, name := range by[:min(len(by), MaxColumns)] {
		c := columns[slices.IndexFunc(columns, func(c column) bool { return c.name == name })]
		s.by = append(s.by, c)
		indexed = indexed && c.indexed
		if c.of == nil {
			s.by[len(s.by)-1].of = byQuarter(c.layout)
		}
	}
	f.Events = []string{audit.End}
	places, edges := x.Places(f), map[int64]bool{}
	if indexed {
		places = x.sumSlots(f, &s, edges)
	}
	for l, err := range x.r.Lines(ctx, f, places...) {
		var invalid *audit.Break
		switch {
		case errors.As(err, &invalid):
			bad++
		case err != nil:
			return nil, 0, err
		case !indexed || edges[quarterOf(l.Time)] || !x.covers(l.Part, l.Offset):
			s.row(&l.Entry).count(&l.Entry)
		}
	}
	return slices.Collect(maps.Values(s.rows)), bad, nil
}

// sumSlots adds up what the index has, and returns where the rest stands: what no segment covers, and the quarters
// at the edges, of which not all is asked for. Lines that are not records are there, too.
func (x *Index) sumSlots(f audit.Filter, s *summary, edges map[int64]bool) []audit.Range {
	first, last := int64(math.MinInt64), int64(math.MaxInt64)
	if !f.Since.IsZero() {
		first = quarterOf(f.Since)
		edges[first] = true
	}
	if !f.Until.IsZero() {
		last = quarterOf(f.Until)
		edges[last] = true
	}
	for _, seg := range slices.Clone(x.segments) {
		all, err := seg.readSums()
		if err != nil {
			x.drop(seg, err)
			continue
		}
		for i := range all {
			k, code := &all[i].Slot, tool.Code(all[i].Slot.Code)
			if k.Quarter < first || k.Quarter > last || edges[k.Quarter] || f.Tool != "" && k.Tool != f.Tool || f.Caller != "" && k.Caller != f.Caller ||
				f.Code == audit.CodeOK && code != "" || f.Code != "" && f.Code != audit.CodeOK && code != f.Code {
				continue
			}
			s.row(&audit.Entry{Record: audit.Record{Time: start(k.Quarter), Tool: k.Tool, Caller: k.Caller, Code: code}}).add(&all[i].Sum)
		}
	}
	return x.where(func(z *zone) bool {
		for q := range edges {
			if z.Newest >= start(q).UnixMicro() && z.Oldest < start(q+1).UnixMicro() && passes(z, &f) {
				return true
			}
		}
		return z.Bad > 0
	})
}
