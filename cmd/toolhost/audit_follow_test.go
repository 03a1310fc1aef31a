package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/test/require"
)

func TestAuditFollow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := filepath.Join(w.root, "audit.jsonl")
	writeAudit(t, path, func(r *audit.Record) { r.Tool = "before" })
	cmd := w.command("audit", "--follow", "--file", path)
	out := require.Must(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	sees := func(word string) {
		t.Helper()
		if !lines.Scan() || !strings.Contains(lines.Text(), word) {
			t.Fatalf("it prints %q, not %s", lines.Text(), word)
		}
	}
	sees("TIME")
	sees("before")
	writeAudit(t, path, func(r *audit.Record) { r.Tool = "after" })
	sees("after")
	require.NoError(t, os.Rename(path, path+".000001"))
	writeAudit(t, path, func(r *audit.Record) { r.Tool = "rotated" })
	sees("rotated")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	for lines.Scan() {
		t.Errorf("it prints %q after its end", lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("an interrupt ends it with %v", err)
	}
}
