package tempdir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

func TestSweep(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	dead, alive := filepath.Join(temp, Prefix+"1"), filepath.Join(temp, Prefix+"2")
	other, foreign := filepath.Join(temp, Prefix+"3"), filepath.Join(temp, Prefix+"4")
	for name, content := range map[string]string{
		Prefix + "1/" + lockFile: lockContent, Prefix + "1/x/y": "", Prefix + "2/x": "", Prefix + "3/x": "",
		Prefix + "4/" + lockFile: "of another program", "kept/file": "",
	} {
		path := filepath.Join(temp, name)
		require.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)))
	}
	for _, dir := range []string{dead, alive, other, foreign} {
		require.NoError(t, os.Chmod(dir, 0o700))
	}
	// What a program leaves may be closed, and may lead out.
	kept := filepath.Join(temp, "kept")
	t.Cleanup(func() { _ = os.Chmod(kept, 0o700) }) //nolint:gosec // so that it can be removed
	if err := errors.Join(os.Symlink(kept, filepath.Join(dead, "x", "out")), os.Chmod(filepath.Join(dead, "x"), 0), os.Chmod(kept, 0o500)); err != nil {
		t.Fatal(err)
	}
	defer lock(alive)()
	Sweep(temp)
	for dir, want := range map[string]bool{dead: false, alive: true, other: true, foreign: true, filepath.Join(kept, "file"): true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: %v", filepath.Base(dir), err)
		}
	}
	if info, err := os.Stat(kept); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("what a link leads to: %v, %v", info.Mode(), err)
	}
}
