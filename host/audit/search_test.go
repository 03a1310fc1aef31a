package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// calls are the call IDs of entries; an unreadable line is a question mark.
func calls(t *testing.T, entries iter.Seq2[Entry, error]) string {
	t.Helper()
	var out []string
	for e, err := range entries {
		var unreadable *Break
		switch {
		case errors.As(err, &unreadable):
			out = append(out, fmt.Sprintf("?%d", unreadable.Line))
		case err != nil:
			t.Fatal(err)
		default:
			out = append(out, e.Call)
		}
	}
	return strings.Join(out, " ")
}

func TestNewest(t *testing.T) {
	t.Parallel()
	_, path := newLog(t, 10, Options{MaxSize: threeLines(t)})
	for n, want := range map[int]string{
		1: "c9", 2: "c8 c9", 4: "c6 c7 c8 c9", 5: "c5 c6 c7 c8 c9", 10: "c0 c1 c2 c3 c4 c5 c6 c7 c8 c9", 100: "c0 c1 c2 c3 c4 c5 c6 c7 c8 c9",
	} {
		equal(t, fmt.Sprintf("the end of %d lines", n), calls(t, Search(t.Context(), path, Filter{Limit: n})), want)
	}
	for e, err := range Search(t.Context(), path, Filter{Limit: 1}) {
		require.NoError(t, err)
		equal(t, "the raw line", string(e.Raw)+"\n", string(read(t, path)))
		equal(t, "its number", e.Seq, 10)
		equal(t, "its place", fmt.Sprint(e.File, ":", e.Line), path+":1")
		equal(t, "its time", e.Time, start.Add(9*time.Second))
	}
	for _, err := range Search(t.Context(), path, Filter{Limit: 5}) { // who has had enough may leave
		require.NoError(t, err)
		break
	}
}

func TestGarbageInTheMiddle(t *testing.T) {
	t.Parallel()
	_, path := newLog(t, 4, Options{})
	l := readLines(t, path)
	long := []byte(strings.Repeat("x", 3*maxLine) + "\n")
	noRecord := []byte(`{"seq":1,"prev":"","time":7,"hash":"` + Digest(nil) + `"}` + "\n")
	overwrite(t, path, l[0], []byte("\x00\xff\n"), l[1], long, l[2], noRecord, l[3], []byte(`{"seq":`))
	equal(t, "all", calls(t, Search(t.Context(), path, Filter{})), "c0 ?2 c1 ?4 c2 ?6 c3 ?8")
	equal(t, "the newest", calls(t, Search(t.Context(), path, Filter{Limit: 2})), "c2 ?6 c3 ?8")
	for _, find := range []iter.Seq2[Entry, error]{Search(t.Context(), path, Filter{}), Search(t.Context(), path, Filter{Limit: 1})} {
		for _, err := range find {
			if err != nil { // who has had enough may leave
				break
			}
		}
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	f, path := newLog(t, 0, Options{MaxSize: threeLines(t)})
	for i, change := range []func(*Record){
		func(*Record) {},
		func(r *Record) { r.Tool, r.Input = "fs.write", []byte(`{"path":"Notes.txt"}`) },
		func(r *Record) { r.Event = Begin },
		func(r *Record) {
			r.Caller, r.Account, r.Via, r.Client, r.Session = "other", "lab", "mcp", "claude-code 2.1.0", "other-2"
		},
		func(r *Record) {
			r.Code, r.Message, r.Decision = tool.CodePermissionDenied, "Permission denied for tool: fs.read", Denied
		},
		func(r *Record) { r.Event, r.Code = Begin, tool.CodePermissionDenied },
	} {
		r := record(i)
		change(&r)
		require.NoError(t, f.Write(r))
	}
	for _, c := range []struct {
		filter Filter
		want   string
	}{
		{Filter{}, "c0 c1 c2 c3 c4 c5"},
		{Filter{Tool: "fs.write"}, "c1"},
		{Filter{Tool: "fs"}, ""},
		{Filter{Caller: "other"}, "c3"},
		{Filter{Caller: "cli"}, "c0 c1 c2 c4 c5"},
		{Filter{Caller: "cl"}, ""},
		{Filter{Account: "lab"}, "c3"},
		{Filter{Account: "la"}, ""},
		{Filter{Via: "mcp"}, "c3"},
		{Filter{Via: "m"}, ""},
		{Filter{Client: "claude-code"}, "c3"},
		{Filter{Client: "code"}, ""},
		{Filter{Text: "Claude"}, "c3"},
		{Filter{Session: "session"}, "c0 c1 c2 c4 c5"},
		{Filter{Code: tool.CodePermissionDenied}, "c4"},
		{Filter{Code: CodeOK}, "c0 c1 c3"},
		{Filter{Since: start.Add(4 * time.Second)}, "c4 c5"},
		{Filter{Text: "notes"}, "c1"},
		{Filter{Text: "DENIED"}, "c4 c5"},
		{Filter{Text: "C3"}, "c3"},
		{Filter{Text: "sha256"}, ""},
		{Filter{Tool: "fs.read", Caller: "cli", Session: "session-1", Since: start.Add(time.Second), Code: CodeOK}, ""},
		{Filter{Limit: 2}, "c4 c5"},
		{Filter{Limit: 1, Code: CodeOK}, "c3"},
		{Filter{Limit: 3}, "c3 c4 c5"},
		{Filter{Limit: 100}, "c0 c1 c2 c3 c4 c5"},
	} {
		equal(t, fmt.Sprintf("%+v", c.filter), calls(t, Search(t.Context(), path, c.filter)), c.want)
	}
}

func TestNoLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "none", "audit.jsonl")
	for _, entries := range []iter.Seq2[Entry, error]{Search(t.Context(), path, Filter{Limit: 1}), Search(t.Context(), path, Filter{})} {
		n := 0
		for _, err := range entries {
			n++
			assert.ErrorIsf(t, err, fs.ErrNotExist, "without a log")
		}
		equal(t, "the number of errors", n, 1)
	}
}
