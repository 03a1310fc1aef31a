package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/internal/lines"
	"github.com/toolhost/toolhost/plugins/internal/truncate"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestReadFile(t *testing.T) {
	t.Parallel()
	p := start(t)
	for name, c := range map[string]struct{ content, want string }{
		"plain":     {"one\r\ntwo", "one\r\ntwo"},
		"empty":     {"", ""},
		"full":      {strings.Repeat("日", maxCharacters), strings.Repeat("日", maxCharacters)},
		"one more":  {strings.Repeat("日", maxCharacters+1), strings.Repeat("日", maxCharacters) + "\n[... truncated ...]"},
		"very long": {strings.Repeat("line\n", 10_000), strings.Repeat("line\n", 1000) + "[... truncated ...]"},
		"emoji":     {strings.Repeat("😀", 2*maxCharacters), strings.Repeat("😀", maxCharacters) + "\n[... truncated ...]"},
		"latin1":    {"caf\xe9", "caf\uFFFD"},
	} {
		p.WriteFile(t, name, c.content)
		p.WantText(t, "read_file", args{"path": name}, c.want)
	}
	p.WriteFile(t, "binary", "a\x00b")
	p.WantFailure(t, "read_file", args{"path": "binary"}, "binary is a binary file, not text (the tool read of plugin fs returns such files)")
	p.WantFailure(t, "read_file", args{"path": "."}, ". is a directory, not a regular file")
	p.WantFailure(t, "read_file", args{"path": "plian"}, "not found: plian (nearest names in the workspace root: plain)")
}

func TestReadBuffer(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "file", "one\r\ntwo\n\nfour")
	p.WriteFile(t, "empty", "")
	p.WriteFile(t, "binary", "a\x00")
	for _, c := range []struct {
		arguments args
		want      string
	}{
		{args{}, "     1\tone\n     2\ttwo\n     3\t\n     4\tfour\n"},
		{args{"start": 2, "end": 3}, "     2\ttwo\n     3\t\n"},
		{args{"start": 4}, "     4\tfour\n"},
		{args{"end": 1}, "     1\tone\n"},
		{args{"start": 3, "end": 99}, "     3\t\n     4\tfour\n"},
		{args{"buffer": "empty"}, "empty is empty.\n"},
	} {
		if c.arguments["buffer"] == nil {
			c.arguments["buffer"] = "file"
		}
		p.WantText(t, "read_buffer", c.arguments, c.want)
	}
	for want, arguments := range map[string]args{
		"file has 4 lines, and line 5 is after the last":  {"start": 5},
		"there are no lines from 3 to 2 (lines count":     {"start": 3, "end": 2},
		"there are no lines from -1 to 0":                 {"start": -1},
		"binary is a binary file, not text":               {"buffer": "binary"},
		"empty has 0 lines, and line 2 is after the last": {"buffer": "empty", "start": 2},
	} {
		if arguments["buffer"] == nil {
			arguments["buffer"] = "file"
		}
		p.WantFailure(t, "read_buffer", arguments, want)
	}
}

func TestReadBufferIsBounded(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "lines", strings.Repeat("x\n", 2*lines.MaxLines))
	p.WriteFile(t, "wide", strings.Repeat(strings.Repeat("é", lines.MaxLineText)+"\n", 100))
	p.WriteFile(t, "long", strings.Repeat("x", 3<<20)+"\nend")
	for name, c := range map[string]struct {
		arguments args
		lines     int
		last      string
	}{
		"lines":            {args{"buffer": "lines"}, lines.MaxLines, truncate.Mark + " (go on with line 1001)"},
		"lines, in middle": {args{"buffer": "lines", "start": 500, "end": 1999}, lines.MaxLines, truncate.Mark + " (go on with line 1500)"},
		"all that is left": {args{"buffer": "lines", "start": 1001}, lines.MaxLines - 1, "  2000\tx"},
		"characters":       {args{"buffer": "wide"}, 24, truncate.Mark + " (go on with line 25)"},
		"a long line":      {args{"buffer": "long"}, 1, "     2\tend"},
	} {
		r, err := p.Execute(t.Context(), p.NewCall(t, "read_buffer", c.arguments))
		got := strings.Split(strings.TrimSuffix(r.Text(), "\n"), "\n")
		if err != nil || r.IsError || len(got) != c.lines+1 || got[c.lines] != c.last {
			t.Errorf("%s: %d lines, last %q, %v", name, len(got), got[len(got)-1], err)
		}
	}
	p.WantText(t, "read_buffer", args{"buffer": "long", "end": 1}, "     1\t"+strings.Repeat("x", lines.MaxLineText)+" "+truncate.Mark+"\n")
}

// Memory and time must depend on what is read, not on the size of the file.
func TestHugeFiles(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "huge", strings.Repeat("needle\n", 3000))
	if err := os.Truncate(filepath.Join(p.Root, "huge"), 1<<40); err != nil {
		t.Skipf("this file system has no holes: %v", err)
	}
	p.WantText(t, "read_buffer", args{"buffer": "huge", "start": 2999, "end": 3000}, "  2999\tneedle\n  3000\tneedle\n")
	p.WantText(t, "read_file", args{"path": "huge"}, strings.Repeat("needle\n", 714)+"ne\n"+truncate.Mark)
	p.WantText(t, "search_in_buffer", args{"buffer": "huge", "pattern": "n", "all_matches": false}, "1:1: needle\n")
	p.WantFailure(t, "read_buffer", args{"buffer": "huge", "start": 4000}, "huge: line 3001: it is binary from here on")
	p.WantFailure(t, "search_in_buffer", args{"buffer": "huge", "pattern": "gone"}, "huge: it is binary from here on")
}

func TestSessionsHaveBuffersOfTheirOwn(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		p.WriteFile(t, name, name+"\n")
	}
	const none = "this session has not read or written a file yet (give the path of one as buffer)"
	p.As("1").WantFailure(t, "read_buffer", args{}, none)
	p.As("1").WantText(t, "read_file", args{"path": "a"}, "a\n")
	p.As("1").WantText(t, "read_buffer", args{}, "     1\ta\n")
	p.As("2").WantFailure(t, "read_buffer", args{}, none)
	p.As("2").WantFailure(t, "search_in_buffer", args{"pattern": "a"}, none)
	p.As("2").WantText(t, "search_in_buffer", args{"pattern": "b", "buffer": "b"}, "1:1: b\n")
	p.As("2").WantText(t, "read_buffer", args{"buffer": ""}, "     1\tb\n")
	p.As("1").WantText(t, "search_in_buffer", args{"pattern": "."}, "No match in a.\n")
	p.As("1").WantText(t, "write_file", args{"path": "./e", "content": "e"}, "Wrote 1 byte to e, a new file.")
	p.As("1").WantText(t, "read_buffer", args{}, "     1\te\n")
	p.As("1").WantText(t, "propose_file_edit", args{"path": "c", "original": "c", "modified": "C", "description": "d"}, "Wrote 2 bytes to c.")
	p.As("1").WantText(t, "read_buffer", args{}, "     1\tC\n")
	// What fails leaves the buffer as it was.
	p.As("1").WantFailure(t, "read_file", args{"path": "gone"}, "not found")
	p.As("1").WantFailure(t, "write_file", args{"path": ".", "content": ""}, "is a directory")
	p.As("1").WantFailure(t, "read_buffer", args{"buffer": "d", "start": 9}, "after the last")
	p.As("1").WantText(t, "read_buffer", args{}, "     1\tC\n")
	// A call without a session leaves nothing to others like it.
	p.As("").WantText(t, "read_file", args{"path": "a"}, "a\n")
	p.As("").WantFailure(t, "read_buffer", args{}, none)
	require.NoError(t, os.Remove(filepath.Join(p.Root, "c")))
	p.As("1").WantFailure(t, "read_buffer", args{}, "not found: c")
}

func TestTheSessionIdleForLongestIsForgotten(t *testing.T) {
	t.Parallel()
	r := newRecent(3)
	visit := func(session string) string {
		ctx := context.WithValue(t.Context(), callctx.Call{}, &tool.Call{Session: session})
		path, err := r.get(ctx, "")
		r.set(ctx, "of "+session)
		return fmt.Sprint(path, err != nil)
	}
	for _, c := range [][2]string{
		{"1", "true"}, {"2", "true"}, {"3", "true"}, {"1", "of 1false"}, {"4", "true"}, {"1", "of 1false"}, {"2", "true"}, {"3", "true"},
	} {
		assert.Equalf(t, visit(c[0]), c[1], "session %s", c[0])
	}
	if len(r.sessions) != 3 || r.order.Len() != 3 {
		t.Errorf("%d sessions are known", len(r.sessions))
	}
}
