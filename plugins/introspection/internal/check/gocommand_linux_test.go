package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/tools/go/packages"

	"github.com/toolhost/toolhost/internal/test/fulldisk"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/internal/source"
)

// A go command that lacks something in a cache in which it cannot write has failed: no build constraint leaves
// out the files of the packages, of which it says nothing.
func TestReadOnlyGoCache(t *testing.T) { //nolint:paralleltest // it changes the environment
	fulldisk.Run(t, readOnlyCache)
}

func readOnlyCache(t *testing.T, disk string) {
	t.Helper()
	t.Setenv("GOCACHE", disk)
	t.Setenv("GOCACHEPROG", "")
	root := t.TempDir()
	for name, content := range map[string]string{"go.mod": "module example.com/m\n\ngo 1.26\n", "a.go": "package m\n\nconst V = 1\n"} {
		path, old := filepath.Join(root, name), time.Now().Add(-time.Hour) // the command remembers nothing of new files
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		require.NoError(t, os.Chtimes(path, old, old))
	}
	require.NoError(t, os.Chtimes(root, time.Time{}, time.Now().Add(-time.Hour)))
	// The cache of other work has what each command asks for first.
	require.Must(goCommand{root: source.Root(root)}.load(t.Context(), packages.NeedName, "unsafe"))(t)
	require.NoError(t, unix.Mount("", disk, "", unix.MS_REMOUNT|unix.MS_RDONLY, "")) // as the sandbox shows the user's
	var w Workspace
	require.NoError(t, w.Open(root))
	_, err := w.Snapshot(t.Context(), "")
	if err == nil || !strings.HasPrefix(err.Error(), "the go command failed: ") || !strings.Contains(err.Error(), "read-only file system") {
		t.Errorf("looking at the workspace: %v", err)
	}
}
