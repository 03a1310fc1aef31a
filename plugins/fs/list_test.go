package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/plugins/internal/workspacetest"
)

func (p plugin) list(t *testing.T, arguments args) listOut {
	t.Helper()
	return workspacetest.Decode[listOut](t, p.Tools, "fs.list", arguments)
}

func TestList(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, name := range []string{"main.go", "README.md", "src/a.go", "src/deep/b.go", "src/deep/c.md", ".git/config"} {
		p.WriteFile(t, name, name)
	}
	for _, c := range []struct {
		arguments args
		want      string
	}{
		{args{}, "README.md main.go src"},
		{args{"path": ""}, "README.md main.go src"},
		{args{"path": "."}, "README.md main.go src"},
		{args{"path": "src/"}, "src/a.go src/deep"},
		{args{"recursive": true}, "README.md main.go src src/a.go src/deep src/deep/b.go src/deep/c.md"},
		{args{"recursive": true, "glob": "*.go"}, "main.go src/a.go src/deep/b.go"},
		{args{"recursive": true, "glob": "src/*.go"}, "src/a.go"},
		{args{"recursive": true, "glob": "*.go", "limit": 3}, "main.go src/a.go src/deep/b.go"},
		{args{"path": "src", "recursive": true, "glob": "src/*/*.[a-h]*"}, "src/deep/b.go"},
		{args{"recursive": true, "glob": "config"}, ""},
		{args{"recursive": true, "glob": "**/*.go"}, "main.go src/a.go src/deep/b.go"},
		{args{"recursive": true, "glob": "src/**/*.{go,md}"}, "src/a.go src/deep/b.go src/deep/c.md"},
		{args{"ignored": true}, ".git README.md main.go src"},
		{args{"ignored": true, "recursive": true, "glob": "[.c]*"}, ".git src/deep/c.md"},
		{args{"path": ".git"}, ".git/config"},
	} {
		out := p.list(t, c.arguments)
		var got []string
		for _, e := range out.Entries {
			got = append(got, e.Path)
		}
		if strings.Join(got, " ") != c.want || out.Truncated || out.Entries == nil {
			t.Errorf("%v = %q, truncated %t; want %q", c.arguments, got, out.Truncated, c.want)
		}
	}
	e := p.list(t, args{"glob": "main.go"}).Entries[0]
	if age := time.Since(e.Modified); e.Name != "main.go" || e.Kind != "file" || e.Size != 7 || age > time.Hour || age < -time.Hour {
		t.Errorf("entry = %+v", e)
	}
}

func TestListLimit(t *testing.T) {
	t.Parallel()
	p := start(t)
	for i := range defaultEntries + 1 {
		p.WriteFile(t, fmt.Sprintf("%04d", i), "")
	}
	for limit, want := range map[int]int{0: defaultEntries, 1: 1, defaultEntries + 1: defaultEntries + 1, maxEntries: defaultEntries + 1} {
		arguments := args{}
		if limit > 0 {
			arguments["limit"] = limit
		}
		out := p.list(t, arguments)
		sorted := slices.IsSortedFunc(out.Entries, func(a, b listEntry) int { return strings.Compare(a.Path, b.Path) })
		if len(out.Entries) != want || out.Truncated != (want <= defaultEntries) || !sorted {
			t.Errorf("limit %d: %d entries, truncated %t, sorted %t", limit, len(out.Entries), out.Truncated, sorted)
		}
	}
}

func TestListFailures(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "file", "")
	for _, c := range []struct {
		arguments args
		want      string
	}{
		{args{"glob": "[a"}, `malformed glob "[a"`},
		{args{"glob": "{a"}, "a { has no }"},
		{args{"limit": maxEntries + 1}, "limit must be between 1 and 10000"},
		{args{"limit": -1}, "limit must be between 1 and 10000"},
		{args{"path": "file"}, "file is a regular file, not a directory"},
		{args{"path": "gone"}, "not found: gone (nothing in the workspace root has a name like it)"},
	} {
		p.WantFailure(t, "fs.list", c.arguments, c.want)
	}
}

func TestListHonoursGitignore(t *testing.T) {
	t.Parallel()
	p := start(t)
	for name, content := range map[string]string{
		".gitignore": "*.log\n/out/\n", "a.go": "", "a.log": "", "out/x": "", "sub/.gitignore": "!keep.log\ngen*", "sub/keep.log": "", "sub/gen.go": "", "sub/out/y": "",
		".git/info/exclude": "private", "private": "",
	} {
		p.WriteFile(t, name, content)
	}
	for _, c := range []struct {
		arguments args
		want      string
	}{
		{args{"recursive": true}, ".gitignore a.go sub sub/.gitignore sub/keep.log sub/out sub/out/y"},
		{args{"path": "sub"}, "sub/.gitignore sub/keep.log sub/out"},
		{args{"path": "out"}, "out/x"},
		{args{"ignored": true}, ".git .gitignore a.go a.log out private sub"},
	} {
		var got []string
		for _, e := range p.list(t, c.arguments).Entries {
			got = append(got, e.Path)
		}
		assert.Equalf(t, strings.Join(got, " "), c.want, "%v = %q, want %q", c.arguments, got, c.want)
	}
}

func TestListReads(t *testing.T) {
	t.Parallel()
	p := start(t)
	assert.Equalf(t, p.Must(t, "fs.list", args{}).Text(), "Nothing to list.\n", "empty")
	p.WriteFile(t, "dir/x", "")
	p.WriteFile(t, "line\nbreak", "12345")
	got := strings.Split(p.Must(t, "fs.list", args{}).Text(), "\n")
	if len(got) != 3 || !strings.HasPrefix(got[0], "dir                0  2") || !strings.HasSuffix(got[0], "  dir/") ||
		!strings.HasPrefix(got[1], "file               5  2") || !strings.HasSuffix(got[1], `  "line\nbreak"`) {
		t.Errorf("text = %q", got)
	}
	assert.Containsf(t, p.Must(t, "fs.list", args{"limit": 1}).Text(), "There are more; these are the first 1 ", "limited")
}
