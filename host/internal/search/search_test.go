package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "fs.read_file": "fs read file", "readHTTPServer2": "read http server2", "getURL": "get url",
		"the files of a user": "file user", "Deleting, deletes, deleted!": "delet delet delet", "queries running": "query run",
		"x": "x", "Größe_ändern": "größ ändern", "a\x00b\xff": "b",
	} {
		assert.Equalf(t, strings.Join(split(text), " "), want, "%q", text)
	}
}

func definitions(n int) []Tool {
	verbs := []string{"create", "delete", "list", "update", "merge", "close", "search", "assign", "archive", "export"}
	nouns := []string{"issue", "pull_request", "branch", "release", "invoice", "customer", "calendar", "message", "channel", "deployment"}
	out := make([]Tool, n)
	for i := range out {
		v, o := verbs[i%10], nouns[i/10%10]
		out[i].Definition = &tool.Definition{
			Name: fmt.Sprintf("server%d.%s_%s", i/100, v, o), Description: strings.ToUpper(v[:1]) + v[1:] + "s a " + o + " of a project.",
			InputSchema: []byte(`{"type":"object","properties":{"` + o + `Id":{"type":"string","description":"The number of the ` + o + `."},
				"filter":{"type":"object","properties":{"labels":{"type":"array","items":{"type":"string"}}}}}}`),
		}
	}
	return out
}

func TestFind(t *testing.T) {
	t.Parallel()
	all := definitions(1000)
	x := New(all)
	every := func(int) bool { return true }
	for query, want := range map[string]string{
		"merge a pull request": "merge_pull_request", "deletingBranches": "delete_branch", "INVOICE export": "export_invoice",
		"calendarId archive": "archive_calendar",
	} {
		for _, i := range x.Find(query, 10, every) {
			if !strings.HasSuffix(all[i].Name, want) {
				t.Errorf("%q finds %s", query, all[i].Name)
			}
		}
		if a, b := x.Find(query, 10, every), New(all).Find(query, 10, every); !slices.Equal(a, b) || !slices.IsSorted(a) {
			t.Errorf("%q finds %v, and then %v", query, a, b)
		}
	}
	for _, none := range []string{"", "the of", "zebra", "\xff", "!"} {
		if got := x.Find(none, 10, every); len(got) > 0 {
			t.Errorf("%q finds %v", none, got)
		}
	}
	if got := x.Find("merge", 3, func(i int) bool { return i > 500 }); len(got) != 3 || got[0] < 500 {
		t.Errorf("of those allowed it finds %v", got)
	}
	if got := New(nil).Find("x", 3, every); len(got) > 0 {
		t.Error(got)
	}
	_ = x.Find(strings.Repeat("merge delete ", 1<<16), 3, every)
}

func BenchmarkNew(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		all := definitions(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				New(all)
			}
		})
	}
}

func BenchmarkFind(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		x := New(definitions(n))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				x.Find("merge the pull request of a branch", 5, func(int) bool { return true })
			}
		})
	}
}
