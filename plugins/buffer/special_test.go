package main

import (
	"path/filepath"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/internal/workspacetest"
	"golang.org/x/sys/unix"
)

func TestNamedPipesAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	p := start(t)
	require.NoError(t, unix.Mkfifo(filepath.Join(p.Root, "pipe"), 0o644))
	workspacetest.Promptly(t, func() {
		for name, arguments := range map[string]args{
			"read_file": {"path": "pipe"}, "read_buffer": {"buffer": "pipe"}, "search_in_buffer": {"buffer": "pipe", "pattern": "x"},
			"write_file": {"path": "pipe", "content": ""}, "propose_file_edit": {"path": "pipe", "original": "a", "modified": "b", "description": ""},
		} {
			p.WantFailure(t, name, arguments, "pipe is a named pipe, not a regular file")
		}
	})
}
