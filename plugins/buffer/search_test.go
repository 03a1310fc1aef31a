package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/plugins/internal/workspacetest"
)

func (p plugin) search(t *testing.T, arguments args) searchOut {
	t.Helper()
	return workspacetest.Decode[searchOut](t, p.Tools, "search_in_buffer", arguments)
}

func TestSearch(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "file", "a.c abc\r\né abc a.c\n\nABC")
	for _, c := range []struct {
		arguments args
		want      []match
	}{
		{args{"pattern": "a.c"}, []match{{1, 1, "a.c", "a.c abc"}, {2, 7, "a.c", "é abc a.c"}}},
		{args{"pattern": "a.c", "regex": true}, []match{{1, 1, "a.c", "a.c abc"}, {1, 5, "abc", "a.c abc"}, {2, 3, "abc", "é abc a.c"}, {2, 7, "a.c", "é abc a.c"}}},
		{args{"pattern": "abc", "all_matches": false}, []match{{1, 5, "abc", "a.c abc"}}},
		{args{"pattern": "abc", "all_matches": true}, []match{{1, 5, "abc", "a.c abc"}, {2, 3, "abc", "é abc a.c"}}},
		{args{"pattern": "(?i)^abc$", "regex": true}, []match{{4, 1, "ABC", "ABC"}}},
		{args{"pattern": "abc$", "regex": true}, []match{{1, 5, "abc", "a.c abc"}}},
		{args{"pattern": "^", "regex": true, "all_matches": false}, []match{{1, 1, "", "a.c abc"}}},
		{args{"pattern": "gone"}, []match{}},
	} {
		c.arguments["buffer"] = "./file"
		got := p.search(t, c.arguments)
		if got.Path != "file" || got.Truncated || !slices.Equal(got.Matches, c.want) || got.Matches == nil {
			t.Errorf("%v = %+v, want %+v", c.arguments, got, c.want)
		}
	}
	p.WantText(t, "search_in_buffer", args{"pattern": "a.c", "buffer": "file"}, "1:1: a.c abc\n2:7: é abc a.c\n")
	p.WantFailure(t, "search_in_buffer", args{"pattern": "(", "regex": true, "buffer": "file"}, "malformed pattern \"(\": missing closing )")
	p.WantFailure(t, "search_in_buffer", args{"pattern": "", "buffer": "file"}, "the pattern is empty")
	p.WantFailure(t, "search_in_buffer", args{"pattern": "a\nb", "buffer": "file"}, "a match lies within one line")
}

func TestSearchIsBounded(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "many", strings.Repeat(strings.Repeat("x", 300)+"\n", 10))
	if got := p.search(t, args{"pattern": "x", "buffer": "many"}); len(got.Matches) != maxMatches || !got.Truncated || got.Matches[maxMatches-1].Line != 4 {
		t.Errorf("%d matches, truncated %t", len(got.Matches), got.Truncated)
	}
	p.WriteFile(t, "exact", strings.Repeat("x", maxMatches))
	if got := p.search(t, args{"pattern": "x", "buffer": "exact"}); len(got.Matches) != maxMatches || got.Truncated {
		t.Errorf("%d matches, truncated %t", len(got.Matches), got.Truncated)
	}
	p.WriteFile(t, "long", strings.Repeat("x", 1<<20))
	if got := p.search(t, args{"pattern": "x+", "regex": true, "buffer": "long"}); len(got.Matches) != 1 || len(got.Matches[0].Text) != maxMatchText || len(got.Matches[0].Context) > 1000 {
		t.Errorf("%+v", got)
	}
}
