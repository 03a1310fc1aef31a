package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func (p plugin) write(t *testing.T, path, content string) writeOut {
	t.Helper()
	var out writeOut
	if err := json.Unmarshal(p.must(t, "fs.write", args{"path": path, "content": content}).Structured, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWrite(t *testing.T) {
	t.Parallel()
	p := start(t)
	if got, want := p.write(t, "./dir/file", "é"), (writeOut{"dir/file", 2, true}); got != want {
		t.Errorf("new: %+v", got)
	}
	if got, want := p.write(t, "dir/file", ""), (writeOut{"dir/file", 0, false}); got != want {
		t.Errorf("again: %+v", got)
	}
	if got := p.must(t, "fs.read", args{"path": "dir/file"}).Text(); got != "" {
		t.Errorf("content = %q", got)
	}
}

func TestWriteAndReadEightMiB(t *testing.T) {
	t.Parallel()
	p := start(t)
	content := strings.Repeat("0123456789abcdé\n", 8<<20/17+1)
	if got := p.write(t, "file", content); got.Bytes != int64(len(content)) || len(content) < 8<<20 {
		t.Errorf("wrote %d bytes of %d", got.Bytes, len(content))
	}
	if p.must(t, "fs.read", args{"path": "file"}).Text() != content {
		t.Error("what was read is not what was written")
	}
}

func TestWriteFailures(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.put(t, "dir/file", "old")
	p.link(t, "dir/file", "link")
	for path, want := range map[string]string{
		"dir":        "dir is a directory, not a regular file",
		".":          ". is a directory, not a regular file",
		"link":       "link is a symbolic link to dir/file, and links are not written through",
		"dir/file/x": "a part of the path is a file, not a directory",
	} {
		p.wantFailure(t, "fs.write", args{"path": path, "content": "new"}, want)
	}
	if b, err := os.ReadFile(filepath.Join(p.root, "dir", "file")); string(b) != "old" {
		t.Errorf("dir/file = %q, %v", b, err)
	}
	if got := p.list(t, args{"recursive": true}).Entries; len(got) != 3 {
		t.Errorf("entries = %+v", got)
	}
}
