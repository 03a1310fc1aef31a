package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/plugins/internal/workspace"
	"github.com/toolhost/toolhost/plugins/internal/workspacetest"
)

func (p plugin) write(t *testing.T, path, content string) workspace.Written {
	t.Helper()
	return workspacetest.Decode[workspace.Written](t, p.Tools, "fs.write", args{"path": path, "content": content})
}

func TestWrite(t *testing.T) {
	t.Parallel()
	p := start(t)
	if got, want := p.write(t, "./dir/file", "é"), (workspace.Written{Path: "dir/file", Bytes: 2, Created: true}); got != want {
		t.Errorf("new: %+v", got)
	}
	if got, want := p.write(t, "dir/file", ""), (workspace.Written{Path: "dir/file"}); got != want {
		t.Errorf("again: %+v", got)
	}
	assert.Equalf(t, p.Must(t, "fs.read", args{"path": "dir/file"}).Text(), "", "content")
	for want, path := range map[string]string{"Wrote 1 byte to new, a new file.": "new", "Wrote 1 byte to dir/file.": "dir/file"} {
		assert.Equalf(t, p.Must(t, "fs.write", args{"path": path, "content": "x"}).Text(), want, "text")
	}
}

func TestWriteAndReadEightMiB(t *testing.T) {
	t.Parallel()
	p := start(t)
	content := strings.Repeat("0123456789abcdé\n", 8<<20/17+1)
	if got := p.write(t, "file", content); got.Bytes != int64(len(content)) || len(content) < 8<<20 {
		t.Errorf("wrote %d bytes of %d", got.Bytes, len(content))
	}
	if p.Must(t, "fs.read", args{"path": "file", "limit": maxRead}).Text() != content {
		t.Error("what was read is not what was written")
	}
}

func TestWriteFailures(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "dir/file", "old")
	p.Symlink(t, "dir/file", "link")
	for path, want := range map[string]string{
		"dir":        "dir is a directory, not a regular file",
		".":          ". is a directory, not a regular file",
		"link":       "link is a symbolic link to dir/file, and links are not written through",
		"dir/file/x": "a part of the path is a file, not a directory",
	} {
		p.WantFailure(t, "fs.write", args{"path": path, "content": "new"}, want)
	}
	if b, err := os.ReadFile(filepath.Join(p.Root, "dir", "file")); string(b) != "old" {
		t.Errorf("dir/file = %q, %v", b, err)
	}
	if got := p.list(t, args{"recursive": true}).Entries; len(got) != 3 {
		t.Errorf("entries = %+v", got)
	}
}

func TestWritePreview(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "file", "one\ntwo\n")
	p.WriteFile(t, "dir/file", "")
	p.Symlink(t, "file", "link")
	for _, c := range []struct{ path, content, want string }{
		{"file", "one\n2\n", "--- a/file\n+++ b/file\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"},
		{"./a/b/../new", "x\n", "--- /dev/null\n+++ b/a/new\n@@ -0,0 +1 @@\n+x\n"},
		{"file", "one\ntwo\n", "No change: file has this content already.\n"},
	} {
		r, err := p.Preview(t.Context(), p.NewCall(t, "fs.write", args{"path": c.path, "content": c.content}))
		if err != nil || r.IsError || r.Text() != c.want {
			t.Errorf("%s: %q, %v", c.path, r.Text(), err)
		}
	}
	for path, want := range map[string]string{
		"dir": "dir is a directory", "link": "link is a symbolic link", "file/x": "a part of the path is a file",
	} {
		if r, err := p.Preview(t.Context(), p.NewCall(t, "fs.write", args{"path": path, "content": "x"})); err != nil || !r.IsError || !strings.Contains(r.Text(), want) {
			t.Errorf("%s: %q, %v", path, r.Text(), err)
		}
	}
	p.WantEscape(t, p.Preview, "fs.write", "../x", args{"path": "../x", "content": "x"})
	if got := p.list(t, args{"recursive": true}).Entries; len(got) != 4 {
		t.Errorf("a preview left something: %+v", got)
	}
}
