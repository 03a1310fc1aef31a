package audit

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A search from the end finds what a look at every line finds, in the same order.
func TestSearchFromTheEnd(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(7, 1))
	f, path := newLog(t, 0, Options{MaxSize: 20 * threeLines(t), Keep: -1})
	f.sync = func(*os.File) error { return nil }
	texts := []string{"", "Kelvin \u212a", `quoted "a\b"`, "PLAIN text", "\u0130stanbul"}
	for i := range 600 {
		r := record(i)
		r.Time = start.Add(time.Duration(i+dice.IntN(40)) * time.Second) // nearly in order
		r.Tool = []string{"fs.read", "fs.write", `odd"tool`}[dice.IntN(3)]
		r.Caller, r.Session = []string{"cli", "bob", "cl\u00ef"}[dice.IntN(3)], fmt.Sprint("session-", dice.IntN(30))
		r.Code = []tool.Code{"", "", tool.CodeNotFound}[dice.IntN(3)]
		r.Message = texts[dice.IntN(len(texts))]
		if dice.IntN(4) == 0 {
			r.Event, r.Code = Begin, ""
		}
		require.NoError(t, f.Write(r))
	}
	var all []Entry
	for e, err := range Search(t.Context(), path, Filter{}) {
		require.NoError(t, err)
		all = append(all, e)
	}
	equal(t, "the number of lines", len(all), 600)
	pick := func(from ...string) string { return from[dice.IntN(len(from))] }
	filters := 100 // which take 4 s with the race detector
	if testing.Short() {
		filters = 30
	}
	for range filters {
		filter := Filter{
			Tool: pick("", "", "fs.write", `odd"tool`), Caller: pick("", "", "bob", "cl\u00ef"), Session: pick("", "", "session-1"),
			Code: tool.Code(pick("", "", string(CodeOK), string(tool.CodeNotFound))), Text: pick("", "", "k", "plain T", `a\b`, "i", "elvin"),
			Limit: []int{0, 1, 7, 5000}[dice.IntN(4)],
		}
		if dice.IntN(2) == 0 {
			filter.Since = start.Add(time.Duration(dice.IntN(700)) * time.Second)
		}
		var want []string
		for i := range all {
			if filter.match(&all[i]) {
				want = append(want, all[i].Call)
			}
		}
		if filter.Limit > 0 {
			want = want[max(0, len(want)-filter.Limit):]
		}
		if got := calls(t, Search(t.Context(), path, filter)); got != strings.Join(want, " ") {
			t.Fatalf("%+v finds %.200s, want %.200s", filter, got, strings.Join(want, " "))
		}
	}
	for e, err := range Search(t.Context(), path, Filter{Limit: 1}) {
		if err != nil || e.File != all[599].File || e.Line != all[599].Line || e.Seq != 600 {
			t.Errorf("the last line is %s:%d, %v", e.File, e.Line, err)
		}
	}

	// Older files are not read: nothing is said of what is wrong with them.
	files, _, err := listRotated(path)
	if err != nil || len(files) < 3 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	overwrite(t, files[0].path, []byte("garbage\n"))
	for _, filter := range []Filter{{Limit: 3}, {Limit: 3, Since: start}, {Limit: 1, Caller: "bob"}} {
		assert.NotContainsf(t, calls(t, Search(t.Context(), path, filter)), "?", "%+v reads all of the log", filter)
	}
}

// Lines that are not in the order of their times are found, unless thousands in a row are older.
func TestSearchInDisorder(t *testing.T) {
	t.Parallel()
	f, path := newLog(t, 0, Options{Keep: -1})
	write := func(i int, at time.Time) {
		r := record(i)
		r.Time = at
		require.NoError(t, f.Write(r))
	}
	write(0, start.Add(time.Hour))
	for i := range maxDisorder + 1 {
		write(1, start.Add(time.Duration(i)))
	}
	write(2, start.Add(time.Hour))
	for i := range 1024 {
		write(3, start.Add(time.Duration(i)))
	}
	write(4, start.Add(time.Hour))
	equal(t, "since then", calls(t, Search(t.Context(), path, Filter{Since: start.Add(time.Hour)})), "c2 c4")
}

// Calls that began and have no end line are found, in all files and by the filter.
func TestSearchUnended(t *testing.T) {
	t.Parallel()
	f, path := newLog(t, 0, Options{MaxSize: threeLines(t), Keep: -1})
	for i, event := range []string{"begin 0", "begin 1", "end 0", "end 2", "begin 3", "begin 4", "end 4", "end 5"} {
		r := record(i)
		r.Event, r.Call = strings.Fields(event)[0], "c"+strings.Fields(event)[1]
		require.NoError(t, f.Write(r))
	}
	for want, filter := range map[string]Filter{
		"c1 c3": {Unended: true}, "c3": {Unended: true, Limit: 1}, "": {Unended: true, Caller: "other"},
		"c3 ": {Unended: true, Since: start.Add(4 * time.Second)},
	} {
		equal(t, fmt.Sprintf("%+v", filter), calls(t, Search(t.Context(), path, filter)), strings.TrimSpace(want))
	}
	r := verify(t, path)
	if r.Unended != 2 || !strings.Contains(r.String(), "2 calls began and did not end") {
		t.Errorf("the report is\n%s", r)
	}
}

// Lines from the end are those from the beginning, with lines that are longer than what is read
// at a time.
func TestBackward(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/log"
	for name, text := range map[string]string{
		"nothing": "", "a newline": "\n", "no newline": "abc", "lines": "a\n\nbc\nd\n", "a piece": "a\nb",
		"long lines": strings.Repeat("x", 3*block+5) + "\n" + strings.Repeat("y", block-1) + "\n" + strings.Repeat("z", block) + "\nend\n",
	} {
		overwrite(t, path, []byte(text))
		p := require.Must(openPart(path, 0))(t)
		var got []string
		for b := newBackward(&p); ; {
			line, offset, err := b.next()
			if err != nil {
				break
			}
			got = append(got, string(line))
			if !strings.HasPrefix(text[offset:], string(line)) {
				t.Errorf("%s: the offset %d is wrong", name, offset)
			}
		}
		slices.Reverse(got)
		want := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if text == "" {
			want = nil
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d lines, want %d", name, len(got), len(want))
		}
		_ = p.file.Close()
	}
	// What never ends is not read.
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Skip("the file system has no sparse files:", err)
	}
	p := require.Must(openPart(path, 0))(t)
	defer func() { _ = p.file.Close() }()
	if _, _, err := newBackward(&p).next(); err != errEndless { //nolint:errorlint // it is not wrapped
		t.Errorf("of a sparse file: %v", err)
	}
}
