//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestReadDoesNotWaitForAPipe(t *testing.T) {
	t.Parallel()
	p := start(t)
	if err := unix.Mkfifo(filepath.Join(p.root, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.wantFailure(t, "fs.read", args{"path": "pipe"}, "pipe is a named pipe, not a regular file")
		p.wantFailure(t, "fs.write", args{"path": "pipe", "content": ""}, "pipe is a named pipe, not a regular file")
		p.wantFailure(t, "fs.list", args{"path": "pipe"}, "pipe is a named pipe, not a directory")
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("still waiting after a minute")
	}
	if got := p.list(t, args{}).Entries; len(got) != 1 || got[0].Kind != "other" {
		t.Errorf("entries = %+v", got)
	}
}

func TestReadOfUnknownSizeIsBounded(t *testing.T) {
	t.Parallel()
	f, err := os.Open("/dev/zero") // as a file would be that grows for ever
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	_, err = readPart(t.Context(), f, 0, 0)
	if err == nil || !strings.Contains(err.Error(), "the file has at least ") {
		t.Errorf("error = %v", err)
	}
}
