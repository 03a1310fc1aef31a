package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/auditindex"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// auditFormat is how lines and sums are printed.
type auditFormat string

const (
	asText auditFormat = "text"
	asCSV  auditFormat = "csv"
	asJSON auditFormat = "jsonl"
)

// writeCSV writes a row as RFC 4180 has it. A spreadsheet takes what begins with some characters for a formula, so such
// a cell, which others may have written, begins with an apostrophe.
func writeCSV(w io.Writer, row []string) {
	clean := make([]string, len(row))
	for i, cell := range row {
		clean[i] = sanitize.Line(cell, 0)
		if strings.ContainsAny(clean[i][:min(1, len(clean[i]))], "=+-@") {
			clean[i] = "'" + clean[i]
		}
	}
	c := csv.NewWriter(w)
	_ = c.Write(clean) // w keeps its error
	c.Flush()
}

// auditColumns are those of lines as CSV. Times of phases are in milliseconds.
func auditColumns() []string {
	columns := []string{
		"time", "event", "call", "parent", "trace", "caller", "account", "via", "client", "session", "tool", "plugin", "decision", "approver",
		"attempts", "code", "message", "refusals", "action", "object", "bytes_in", "bytes_out", "estimated_tokens", "duration_ms",
	}
	for _, phase := range audit.Phases {
		columns = append(columns, phase+"_ms")
	}
	return columns
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', -1, 64)
}

func auditValues(r *audit.Record) []string {
	p := cmp.Or(r.Phases, &policy.Phases{})
	row := []string{
		r.Time.Format(time.RFC3339Nano), r.Event, r.Call, r.Parent, r.Trace, r.Caller, r.Account, r.Via, r.Client, r.Session, r.Tool, r.Plugin,
		r.Decision, r.Approver, strconv.Itoa(r.Attempts), string(r.Code), r.Message, strconv.Itoa(r.Refusals), r.Action, r.Object,
		strconv.Itoa(p.BytesIn), strconv.Itoa(p.BytesOut), strconv.Itoa(p.EstimatedTokens), milliseconds(time.Duration(r.Duration)),
	}
	spent := r.Spent()
	for i := range audit.Phases {
		if spent == nil {
			row = append(row, "")
			continue
		}
		row = append(row, milliseconds(time.Duration(spent[i])))
	}
	return row
}

// auditSum is a row of a sum as JSON.
type auditSum struct {
	By              map[string]string `json:"by"`
	Calls           int64             `json:"calls"`
	Failed          int64             `json:"failed"`
	Time            tool.Duration     `json:"time"`
	Share           float64           `json:"share"` // of the time of all rows
	P50             tool.Duration     `json:"p50"`
	P95             tool.Duration     `json:"p95"`
	P99             tool.Duration     `json:"p99"`
	Max             tool.Duration     `json:"max"`
	BytesIn         int64             `json:"bytes_in"`
	BytesOut        int64             `json:"bytes_out"`
	EstimatedTokens int64             `json:"estimated_tokens"`
}

// sums prints sums, those of the most time first, or in the order of time if they are of hours or days.
func (c *auditCommand) sums(ctx context.Context, x *auditindex.Index, format auditFormat) (int, error) {
	rows, bad, err := x.Sum(ctx, c.filter, c.sum)
	if err != nil {
		return 0, unreadable(err)
	}
	out := c.log.s.Out
	if bad > 0 {
		c.log.s.Warn(&tool.Error{Message: fmt.Sprintf("lines that are not records: %d", bad), Hint: "toolhost audit verify checks the whole log"})
	}
	inTime := c.sum[0] == "hour" || c.sum[0] == "day"
	var all auditindex.Sum
	for _, r := range rows {
		all[auditindex.Time] += r.Sum[auditindex.Time]
	}
	slices.SortFunc(rows, func(a, b *auditindex.Row) int {
		if inTime {
			return slices.Compare(a.Values, b.Values)
		}
		return cmp.Or(cmp.Compare(b.Sum[auditindex.Time], a.Sum[auditindex.Time]), slices.Compare(a.Values, b.Values))
	})
	if c.filter.Limit > 0 {
		rows = rows[:min(len(rows), c.filter.Limit)]
	}
	var head []string
	for _, name := range c.sum {
		head = append(head, strings.ToUpper(name))
	}
	table := output.Table{append(head, "CALLS", "FAILED", "TIME", "SHARE", "P50", "P95", "P99", "MAX", "IN", "OUT", "TOKENS")}
	if format == asCSV {
		writeCSV(out, append(slices.Clone(c.sum), "calls", "failed", "time_ms", "share", "p50_ms", "p95_ms", "p99_ms", "max_ms",
			"bytes_in", "bytes_out", "estimated_tokens"))
	}
	for _, r := range rows {
		s := &r.Sum
		share := float64(s[auditindex.Time]) / float64(max(1, all[auditindex.Time]))
		times := []time.Duration{time.Duration(s[auditindex.Time]), s.Quantile(0.5), s.Quantile(0.95), s.Quantile(0.99), time.Duration(s[auditindex.Longest])}
		number := func(n int64) string { return strconv.FormatInt(n, 10) }
		row := slices.Clone(r.Values)
		switch row = append(row, number(s[auditindex.Calls]), number(s[auditindex.Failed])); format {
		case asJSON:
			by := map[string]string{}
			for i, name := range c.sum {
				by[name] = r.Values[i]
			}
			text, _ := json.Marshal(auditSum{
				by, s[auditindex.Calls], s[auditindex.Failed], tool.Duration(times[0]), share, tool.Duration(times[1]), tool.Duration(times[2]),
				tool.Duration(times[3]), tool.Duration(times[4]), s[auditindex.BytesIn], s[auditindex.BytesOut], s[auditindex.Tokens],
			})
			out.Line(text)
		case asCSV:
			row = append(row, milliseconds(times[0]), strconv.FormatFloat(share, 'f', 4, 64))
			for _, d := range times[1:] {
				row = append(row, milliseconds(d))
			}
			writeCSV(out, append(row, number(s[auditindex.BytesIn]), number(s[auditindex.BytesOut]), number(s[auditindex.Tokens])))
		default:
			for i, value := range row {
				row[i] = output.OrDash(sanitize.Line(value, 0))
			}
			row = append(row, briefly(times[0]), fmt.Sprintf("%.1f%%", 100*share))
			for _, d := range times[1:] {
				row = append(row, briefly(d))
			}
			table.Add(append(row, output.Size(s[auditindex.BytesIn]), output.Size(s[auditindex.BytesOut]), number(s[auditindex.Tokens]))...)
		}
	}
	if format == asText && len(rows) > 0 {
		out.Table(table)
	}
	return len(rows), nil
}

// briefly formats a duration, such as 2.955 s.
func briefly(d time.Duration) string {
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.3f s", d.Seconds())
	case d >= time.Millisecond:
		return output.Milliseconds(d)
	}
	return fmt.Sprintf("%d µs", d.Microseconds())
}
