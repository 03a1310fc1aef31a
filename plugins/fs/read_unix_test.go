//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/plugins/internal/workspacetest"
	"golang.org/x/sys/unix"
)

func TestReadDoesNotWaitForAPipe(t *testing.T) {
	t.Parallel()
	p := start(t)
	if err := unix.Mkfifo(filepath.Join(p.Root, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	_, err = readPart(t.Context(), f, 0, 0)
	if err == nil || !strings.Contains(err.Error(), "the file has at least ") {
		t.Errorf("error = %v", err)
	}
}
