package trusted_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/trusted"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func write(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte("content"), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	write(t, path, 0o644)
	if got, err := trusted.Read(path, 7); err != nil || string(got) != "content" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := trusted.Read(path, 6); tool.CodeOf(err) != tool.CodeResourceExhausted {
		t.Errorf("one byte too many: %v", err)
	}
	if _, err := trusted.Read(filepath.Join(dir, "none"), 7); tool.CodeOf(err) != tool.CodeNotFound || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := trusted.Read(dir, 7); tool.CodeOf(err) != tool.CodeUnavailable || !strings.Contains(err.Error(), "a directory") {
		t.Errorf("a directory: %v", err)
	}
}
