package workspace

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/fulldisk"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/internal/workspacetest"
)

func TestFullDiskLeavesTheOldFile(t *testing.T) {
	t.Parallel()
	fulldisk.Run(t, onFullDisk)
}

func onFullDisk(t *testing.T, dir string) {
	t.Helper()
	workspacetest.WriteFile(t, filepath.Join(dir, "file"), "old")
	ws := require.Must(Open(dir))(t)
	defer func() { _ = ws.Close() }()
	large := strings.Repeat("x", 1<<20)
	for _, name := range []string{"file", "new"} {
		for what, run := range map[string]func(context.Context) error{
			"Write":  func(ctx context.Context) error { _, err := ws.Write(ctx, name, strings.NewReader(large)); return err },
			"Change": func(ctx context.Context) error { _, err := ws.Change(ctx, name, becomes(large)); return err },
		} {
			err := run(t.Context())
			wantError(t, err, name+": no space left on device")
			assert.ErrorIsf(t, err, syscall.ENOSPC, "%s of %s", what, name)
		}
	}
	assert.Equalf(t, content(t, filepath.Join(dir, "file")), "old", "file")
	if _, err := os.Lstat(filepath.Join(dir, "new")); err == nil {
		t.Error("new was made")
	}
	wantNoTemp(t, dir)
}
