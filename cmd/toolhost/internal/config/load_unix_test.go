//go:build unix

package config

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo, open := filepath.Join(dir, "fifo"), filepath.Join(dir, "open")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o622); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]tool.Code{fifo: tool.CodeUnavailable, "/dev/zero": tool.CodeUnavailable, open: tool.CodePermissionDenied} {
		if c, err := Load(path); c != nil || tool.CodeOf(err) != want {
			t.Errorf("%s: %v, %v, want %s", path, c, err, want)
		}
	}
}
