package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/internal/workspacetest"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestReadText(t *testing.T) {
	t.Parallel()
	p := start(t)
	for name, content := range map[string]string{
		"plain": "one\ntwo\r\n", "empty": "", "ünï cödé": "日本語", "replacement": "\uFFFD", "bom.txt": "\uFEFFx",
	} {
		p.WriteFile(t, name, content)
		r := p.Must(t, "fs.read", args{"path": name})
		if text, ok := r.Content[0].(tool.TextContent); !ok || text.Text != content || len(r.Content) != 1 || r.Structured != nil {
			t.Errorf("%s = %#v, want %q", name, r, content)
		}
	}
}

func TestReadThroughALinkInside(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "dir/file", "inside")
	p.Symlink(t, "dir", "link")
	assert.Equalf(t, p.Must(t, "fs.read", args{"path": "link/file"}).Text(), "inside", "link/file")
}

func TestReadBinary(t *testing.T) {
	t.Parallel()
	p := start(t)
	png := "\x89PNG\r\n\x1a\n\x00\x00"
	for _, c := range []struct{ name, content, uri, mime string }{
		{"pixel", png, "file:///pixel", "image/png"},
		{"dir/a b#?%.png", png, "file:///dir/a%20b%23%3F%25.png", "image/png"},
		{"c:d", "\xff\xfeh\x00i\x00", "file:///c:d", "text/plain; charset=utf-16le"},
		{"latin1", "caf\xe9", "file:///latin1", "text/plain"},
		{"nul.txt", "a\x00b", "file:///nul.txt", "application/octet-stream"},
		{"./bad/../latin1.html", "caf\xe9\x01", "file:///latin1.html", "application/octet-stream"},
	} {
		p.WriteFile(t, c.name, c.content)
		r := p.Must(t, "fs.read", args{"path": c.name})
		got, ok := r.Content[0].(tool.ResourceContent)
		if !ok || got.URI != c.uri || got.MIMEType != c.mime || string(got.Blob) != c.content {
			t.Errorf("%s = %#v", c.name, r.Content[0])
		}
	}
	r := p.Must(t, "fs.read", args{"path": "pixel", "offset": 4, "limit": 5})
	if got, ok := r.Content[0].(tool.ResourceContent); !ok || string(got.Blob) != png[4:9] || got.MIMEType != "application/octet-stream" {
		t.Errorf("part = %#v", r.Content[0])
	}
}

func TestReadParts(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "file", "aé日😀z") // 1, 2, 3, 4 and 1 bytes
	for _, c := range []struct {
		offset, limit int
		want          string
	}{
		{0, 0, "aé日😀z"}, {1, 0, "é日😀z"}, {2, 0, "日😀z"}, {7, 0, "z"}, {10, 0, "z"},
		{0, 1, "a"}, {0, 2, "aé"}, {0, 3, "aé"}, {2, 1, ""}, {3, 3, "日"}, {4, 3, "😀"}, {6, 1, "😀"},
		{0, 11, "aé日😀z"}, {0, 500, "aé日😀z"}, {11, 0, ""}, {12, 5, ""}, {1 << 40, 1, ""},
	} {
		arguments := args{"path": "file", "offset": c.offset}
		if c.limit > 0 {
			arguments["limit"] = c.limit
		}
		assert.Equalf(t, p.Must(t, "fs.read", arguments).Text(), c.want, "offset %d, limit %d", c.offset, c.limit)
	}
}

func TestReadPartsAreTheWhole(t *testing.T) {
	t.Parallel()
	p := start(t)
	whole := strings.Repeat("aé日😀\n", 20)
	p.WriteFile(t, "file", whole)
	for limit := 1; limit <= 15; limit++ {
		var parts strings.Builder
		for offset := 0; offset < len(whole); offset += limit {
			got := p.Must(t, "fs.read", args{"path": "file", "offset": offset, "limit": limit}).Text()
			if !utf8.ValidString(got) {
				t.Fatalf("offset %d, limit %d splits a character: %q", offset, limit, got)
			}
			parts.WriteString(got)
		}
		assert.Equalf(t, parts.String(), whole, "limit %d: the parts are not the whole", limit)
	}
}

// Without a limit a call returns what a model reads at a time, and how to go on.
func TestReadLargeFiles(t *testing.T) {
	t.Parallel()
	p := start(t)
	const line = "日本語 and more, so that the lines do not end it first\n"
	p.WriteFile(t, "lines", strings.Repeat("x\n", 2001))
	p.WriteFile(t, "bytes", strings.Repeat(line, 5000))
	p.WriteFile(t, "one", strings.Repeat("é", 40_000))
	p.WriteFile(t, "fits", strings.Repeat("x\n", 2000))
	p.WriteFile(t, "binary", strings.Repeat("\x00", 70_000))
	whole := (usualBytes / len(line)) * len(line)
	for _, c := range []struct {
		in   args
		size int
		note string
	}{
		{args{"path": "lines"}, 4000, "[... truncated: bytes 0 to 4000 of 4002; offset 4000 goes on, and limit asks for more ...]"},
		{args{"path": "lines", "offset": 4000}, 2, ""},
		{args{"path": "lines", "limit": 4001}, 4001, ""},
		{args{"path": "bytes"}, whole, fmt.Sprintf("[... truncated: bytes 0 to %d of %d;", whole, 5000*len(line))},
		{args{"path": "bytes", "offset": 1}, whole - 3, fmt.Sprintf("[... truncated: bytes 1 to %d of", whole)},
		{args{"path": "one"}, usualBytes, "[... truncated: bytes 0 to 65536 of 80000; offset 65536"},
		{args{"path": "one", "offset": 1}, usualBytes, "[... truncated: bytes 1 to 65538 of 80000; offset 65538"},
		{args{"path": "fits"}, 4000, ""},
		{args{"path": "binary"}, usualBytes, "[... truncated: bytes 0 to 65536 of 70000;"},
	} {
		r := p.Must(t, "fs.read", c.in)
		size, note := 0, ""
		switch first := r.Content[0].(type) {
		case tool.TextContent:
			size = len(first.Text)
		case tool.ResourceContent:
			size = len(first.Blob)
		}
		if len(r.Content) > 1 {
			note = tool.Result{Content: r.Content[1:]}.Text()
		}
		if size != c.size || !strings.HasPrefix(note, c.note) || c.note == "" && note != "" {
			t.Errorf("%v: %d bytes, %q; want %d, %q", c.in, size, note, c.size, c.note)
		}
	}
	const size = maxRead + 100
	require.NoError(t, os.Truncate(filepath.Join(p.Root, "binary"), size))
	if got, ok := p.Must(t, "fs.read", args{"path": "binary", "offset": 100, "limit": maxRead}).Content[0].(tool.ResourceContent); !ok || len(got.Blob) != maxRead {
		t.Error("32 MiB do not come in one call")
	}
}

func TestReadFailures(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "dir/file", "")
	for _, c := range []struct {
		arguments args
		want      string
	}{
		{args{"path": "dir"}, "dir is a directory, not a regular file"},
		{args{"path": "dri"}, "not found: dri (nearest names in the workspace root: dir)"},
		{args{"path": "dir/fiel"}, "not found: dir/fiel (nearest names in dir: file)"},
		{args{"path": "a\x00b"}, "NUL character"},
		{args{"path": ""}, "the path is empty"},
		{args{"path": "dir/file", "offset": -1}, "offset must be at least 0"},
		{args{"path": "dir/file", "limit": maxRead + 1}, "limit between 1 and 33554432"},
	} {
		p.WantFailure(t, "fs.read", c.arguments, c.want)
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "file", "content")
	f := require.Must(os.Open(filepath.Join(p.Root, "file")))(t)
	defer func() { _ = f.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := readPart(ctx, f, 0, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("readPart after the end of its context: %v", err)
	}
}

func FuzzEdge(f *testing.F) {
	f.Add([]byte("aé日😀z"), 4)
	f.Add([]byte("\x80\xf0\x9f\x98"), 1)
	f.Fuzz(func(t *testing.T, b []byte, i int) {
		if i < 0 || i > len(b) {
			return
		}
		e := edge(b, i)
		if e < i || e > len(b) || e-i > margin {
			t.Fatalf("edge(%q, %d) = %d", b, i, e)
		}
		if utf8.Valid(b) && (!utf8.Valid(b[:e]) || !utf8.Valid(b[e:])) {
			t.Fatalf("edge(%q, %d) = %d splits a character", b, i, e)
		}
		if !bytes.Equal(append(b[:e:e], b[e:]...), b) {
			t.Fatal("bytes are lost")
		}
	})
}

func TestReadLines(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "file", "\xef\xbb\xbfone\r\ntwo\nthree\n")
	p.WantText(t, "fs.read", args{"path": "file", "start_line": 2, "end_line": 3}, "     2\ttwo\n     3\tthree\n")
	p.WantText(t, "fs.read", args{"path": "file", "end_line": 1}, "     1\tone\n")
	p.WantText(t, "fs.read", args{"path": "file", "start_line": 3, "end_line": 10}, "     3\tthree\n")
	p.WantFailure(t, "fs.read", args{"path": "file", "start_line": 4}, "file has 3 lines, and line 4 is after the last")
	p.WantFailure(t, "fs.read", args{"path": "file", "start_line": 3, "end_line": 2}, "there are no lines from 3 to 2")
	p.WantFailure(t, "fs.read", args{"path": "file", "start_line": 1, "limit": 2}, "give one or the other")
	p.WriteFile(t, "binary", "a\x00b")
	p.WantFailure(t, "fs.read", args{"path": "binary", "start_line": 1}, "binary is a binary file and has no lines")
	p.WriteFile(t, "long", strings.Repeat("x\n", 1001))
	if got := p.Must(t, "fs.read", args{"path": "long", "start_line": 1}).Text(); !strings.HasSuffix(got, "[... truncated ...] (go on with line 1001)\n") {
		t.Errorf("the end is %q", got[len(got)-60:])
	}
}

func TestReadDoesNotWaitForAPipe(t *testing.T) {
	t.Parallel()
	p := start(t)
	require.NoError(t, unix.Mkfifo(filepath.Join(p.Root, "pipe"), 0o644))
	workspacetest.Promptly(t, func() {
		p.WantFailure(t, "fs.read", args{"path": "pipe"}, "pipe is a named pipe, not a regular file")
		p.WantFailure(t, "fs.write", args{"path": "pipe", "content": ""}, "pipe is a named pipe, not a regular file")
		p.WantFailure(t, "fs.edit", args{"path": "pipe", "original": "a", "modified": ""}, "pipe is a named pipe, not a regular file")
		p.WantFailure(t, "fs.search", args{"path": "pipe", "pattern": "a"}, "pipe is a named pipe, not a regular file")
		if got := p.search(t, args{"pattern": "a"}); got.Searched != 0 || got.Unreadable != nil {
			t.Errorf("searched: %+v", got)
		}
		p.WantFailure(t, "fs.list", args{"path": "pipe"}, "pipe is a named pipe, not a directory")
	})
	if got := p.list(t, args{}).Entries; len(got) != 1 || got[0].Kind != "other" {
		t.Errorf("entries = %+v", got)
	}
}

func TestNamesThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	p := start(t)
	name := "caf\xe9"
	if err := os.Mkdir(filepath.Join(p.Root, name), 0o755); err != nil {
		t.Skipf("this file system has no such names: %v", err)
	}
	p.WriteFile(t, filepath.Join(name, "in\xff.txt"), "needle")
	got := p.list(t, args{"recursive": true}).Entries
	if len(got) != 2 || got[0].Path != `caf\xe9` || !got[0].NotUTF8 || got[1].Path != `caf\xe9/in\xff.txt` || got[1].Name != `in\xff.txt` || !got[1].NotUTF8 {
		t.Errorf("entries = %+v", got)
	}
	found := p.search(t, args{"pattern": "needle"})
	if len(found.Files) != 1 || found.Files[0].Path != `caf\xe9/in\xff.txt` {
		t.Errorf("found = %+v", found)
	}
	// The escaped form is a different name, which no file has.
	p.WantFailure(t, "fs.read", args{"path": got[1].Path}, "not found: ")
}

func TestReadOfUnknownSizeIsBounded(t *testing.T) {
	t.Parallel()
	f, err := os.Open("/dev/zero") // like a file that grows forever
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	if part, err := readPart(t.Context(), f, 0, 0); err != nil || len(part.bytes()) != usualBytes || !strings.Contains(part.note(0), "bytes 0 to 65536; offset") {
		t.Errorf("error = %v, %q", err, part.note(0))
	}
}
