//go:build unix

package main

import (
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestNamedPipesAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	p := start(t)
	if err := unix.Mkfifo(filepath.Join(p.root, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for name, arguments := range map[string]args{
			"read_file": {"path": "pipe"}, "read_buffer": {"buffer": "pipe"}, "search_in_buffer": {"buffer": "pipe", "pattern": "x"},
			"write_file": {"path": "pipe", "content": ""}, "propose_file_edit": {"path": "pipe", "original": "a", "modified": "b", "description": ""},
		} {
			p.fails(t, "s", name, arguments, "pipe is a named pipe, not a regular file")
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("still waiting after a minute")
	}
}
