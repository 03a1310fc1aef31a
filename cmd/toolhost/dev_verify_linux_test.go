package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A terminal shows which check runs, until the report comes; a program is told nothing.
func TestPluginVerifyShowsWhatRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	line := []string{"dev", "verify", filepath.Join(w.plugins, "fs"), "--group", "handshake"}
	equal(t, "standard error of a program", w.bare(line...).exits(exit.Done).stderr, "")
	person, program := newTerminal(t)
	var out bytes.Buffer
	cmd := w.command(line...)
	cmd.Stdout, cmd.Stderr = &out, program
	require.NoError(t, cmd.Start())
	screen{t, person}.sees("\rhandshake.line\x1b[K")
	screen{t, person}.sees("\rhandshake.connects\x1b[K\r\x1b[K")
	require.NoError(t, cmd.Wait())
	if !strings.Contains(out.String(), "pass  handshake.connects") {
		t.Errorf("it prints %s", &out)
	}
}
