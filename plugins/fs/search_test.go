package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/plugins/internal/workspacetest"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func (p plugin) search(t *testing.T, arguments args) searchOut {
	t.Helper()
	return workspacetest.Decode[searchOut](t, p.Tools, "fs.search", arguments)
}

func TestSearch(t *testing.T) {
	t.Parallel()
	p := start(t)
	for name, content := range map[string]string{
		"a.go": "package a\n\nfunc Needle() {}\n", "b.md": "no\nthe NEEDLE.\r\nneedle needle\n", "dir/c.go": "// é needle\n", "empty": "",
		"latin1.txt": "caf\xe9 needle\n",
	} {
		p.WriteFile(t, name, content)
	}
	for _, c := range []struct {
		arguments args
		want      string
	}{
		{args{"pattern": "needle"}, "b.md:3:1: needle needle\ndir/c.go:1:6: // é needle\nlatin1.txt:1:6: caf\uFFFD needle\n"},
		{args{"pattern": `(?i)n\w+e\b`, "glob": "*.md"}, "b.md:2:5: the NEEDLE.\nb.md:3:1: needle needle\n"},
		{args{"pattern": "needle", "ignore_case": true, "path": "a.go"}, "a.go:3:6: func Needle() {}\n"},
		{args{"pattern": `NEEDLE\.$`, "path": "./"}, "b.md:2:5: the NEEDLE.\n"},
		{args{"pattern": "NEEDLE.", "literal": true}, "b.md:2:5: the NEEDLE.\n"},
		{args{"pattern": "needle", "path": "dir"}, "dir/c.go:1:6: // é needle\n"},
		{args{"pattern": "Needle", "glob": "**/*.go", "context": 2}, "a.go-1- package a\na.go-2- \na.go:3:6: func Needle() {}\n"},
		{args{"pattern": "gone"}, "No match in 5 files.\n"},
		{args{"pattern": "needle", "limit": 1}, "b.md:3:1: needle needle\nThere are more (raise limit, or narrow the search with path, glob or a longer pattern).\n"},
	} {
		assert.Equalf(t, p.Must(t, "fs.search", c.arguments).Text(), c.want, "%v", c.arguments)
	}
	out := p.search(t, args{"pattern": "needle", "limit": 3})
	if out.Matches != 3 || out.Truncated || out.Searched != 5 || len(out.Files) != 3 || out.Files[1].Lines[0] != (searchLine{1, 6, "// é needle"}) {
		t.Errorf("out = %+v", out)
	}
}

func TestSearchContext(t *testing.T) {
	t.Parallel()
	p := start(t)
	var content strings.Builder
	for i := 1; i <= 20; i++ {
		fmt.Fprintf(&content, "%d%s\n", i, map[int]string{3: "x", 5: "x", 6: "x", 15: "x", 20: "x"}[i])
	}
	p.WriteFile(t, "f", content.String())
	want := "f-2- 2\nf:3:2: 3x\nf-4- 4\nf:5:2: 5x\nf:6:2: 6x\nf-7- 7\n--\nf-14- 14\nf:15:3: 15x\nf-16- 16\n--\nf-19- 19\nf:20:3: 20x\n"
	assert.Equalf(t, p.Must(t, "fs.search", args{"pattern": "x", "context": 1}).Text(), want, "context")
}

func TestSearchSkipsWhatRipgrepSkips(t *testing.T) {
	t.Parallel()
	p := start(t)
	for name, content := range map[string]string{
		".gitignore": "*.log\n# needle", ".ignore": "skipped\n!kept.log", ".rgignore": "!twice\nnot", "a": "needle", "a.log": "needle", "kept.log": "needle", "skipped": "needle",
		"not": "needle", "twice": "needle", ".hidden": "needle", ".dir/x": "needle", ".git/config": "needle", "binary": "needle\x00", "sub/.gitignore": "gen", "sub/gen/x": "needle",
		"late": "needle\n" + strings.Repeat("x\n", 8<<10) + "\x00\nneedle\n",
	} {
		p.WriteFile(t, name, content)
	}
	p.Symlink(t, "a", "link")
	for _, c := range []struct {
		arguments args
		want      string
		binary    int
	}{
		{args{}, "a kept.log late twice", 2},
		{args{"hidden": true}, ".dir/x .gitignore .hidden a kept.log late twice", 2},
		{args{"ignored": true}, "a a.log kept.log late not skipped sub/gen/x twice", 2},
		{args{"path": "skipped"}, "skipped", 0},
		{args{"path": ".hidden"}, ".hidden", 0},
		{args{"path": "link"}, "link", 0},
		{args{"path": "sub/gen"}, "sub/gen/x", 0},
		{args{"path": "binary"}, "", 1},
	} {
		c.arguments["pattern"] = "needle"
		out := p.search(t, c.arguments)
		var got []string
		for _, f := range out.Files {
			got = append(got, f.Path)
			assert.Equalf(t, len(f.Lines), 1, "%v: %+v", c.arguments, f)
		}
		if strings.Join(got, " ") != c.want || out.Binary != c.binary {
			t.Errorf("%v = %q, %d binary; want %q", c.arguments, got, out.Binary, c.want)
		}
	}
	if got := p.Must(t, "fs.search", args{"pattern": "needle", "path": "binary"}).Text(); got != "No match in 0 files.\nBinary files that were not searched: 1.\n" {
		t.Errorf("text = %q", got)
	}
}

func TestSearchIsBounded(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "many", strings.Repeat(strings.Repeat("x", 400)+"\n", 4*maxMatches))
	p.WriteFile(t, "long", strings.Repeat("x", 2<<20)+"needle\nneedle")
	out := p.search(t, args{"pattern": "x", "limit": maxMatches, "path": "many"})
	if !out.Truncated || out.Matches != maxFound/400+1 {
		t.Errorf("%d matches, truncated %t", out.Matches, out.Truncated)
	}
	out = p.search(t, args{"pattern": "needle"})
	if out.Matches != 1 || out.Files[0].Lines[0].Line != 2 || len(out.Partly) != 1 || out.Partly[0] != "long" {
		t.Errorf("%+v", out)
	}
	if got := p.Must(t, "fs.search", args{"pattern": "needle"}).Text(); !strings.HasSuffix(got, "long has lines longer than 1 MiB, which were searched in part.\n") {
		t.Errorf("text = %q", got)
	}
}

func TestSearchOfAHugeFile(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "huge", strings.Repeat("x\n", 8<<10)) // text, as far as the start shows
	file := filepath.Join(p.Root, "huge")
	if err := os.Truncate(file, 1<<40); err != nil {
		t.Skipf("this file system has no holes: %v", err)
	}
	if out := p.search(t, args{"pattern": "y"}); out.Binary != 1 || out.Matches != 0 {
		t.Errorf("%+v", out)
	}
}

func TestSearchFailures(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "file", "")
	for _, c := range []struct {
		arguments args
		want      string
	}{
		{args{"pattern": ""}, "the pattern is empty"},
		{args{"pattern": "a\nb"}, "the pattern has a line break"},
		{args{"pattern": "("}, "malformed pattern"},
		{args{"pattern": "a", "glob": "["}, "malformed glob"},
		{args{"pattern": "a", "limit": -1}, "limit must be between 1 and 5000"},
		{args{"pattern": "a", "context": 21}, "context between 0 and 20"},
		{args{"pattern": "a", "path": "flie"}, "not found: flie (nearest names in the workspace root: file)"},
	} {
		p.WantFailure(t, "fs.search", c.arguments, c.want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Execute(ctx, tool.Call{Name: "fs.search", Arguments: []byte(`{"pattern": "a"}`)})
	assert.ErrorIsf(t, err, context.Canceled, "canceled")
}

func TestSearchReadsEncodings(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "bom.go", "\xef\xbb\xbfpackage main\n")
	p.WriteFile(t, "wide.txt", "\xff\xfep\x00a\x00c\x00k\x00a\x00g\x00e\x00")
	p.WriteFile(t, "sub/bom.go", "package sub\n")
	p.WantText(t, "fs.search", args{"pattern": "^package"}, "bom.go:1:1: package main\nsub/bom.go:1:1: package sub\nwide.txt:1:1: package\n")
	p.WantText(t, "fs.search", args{"pattern": "^package", "glob": "./*.go"}, "bom.go:1:1: package main\n")
	p.WriteFile(t, "long.min", strings.Repeat("x", 1<<20)+" tail")
	p.WantText(t, "fs.search", args{"pattern": "^x+$", "glob": "*.min"},
		"No match in 1 files.\nlong.min has lines longer than 1 MiB, which were searched in part.\n")
}
