package workspace

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A process of anyone who can read a directory may hold its lock: changes are made all the same.
func TestLockThatIsHeld(t *testing.T) {
	t.Parallel()
	ws, root, _ := space(t)
	held := require.Must(os.Open(root))(t)
	defer func() { _ = held.Close() }()
	require.NoError(t, safefile.Lock(held, safefile.Exclusive, time.Now()))
	if _, err := ws.Change(t.Context(), "file", becomes("new")); err != nil || content(t, filepath.Join(root, "file")) != "new" {
		t.Error(err)
	}
}

// Processes change one file, each of them several times at once, and write another: no change is lost, and none fails.
func TestChangesOfProcesses(t *testing.T) {
	t.Parallel()
	const inTest, processes, callers = "TOOLHOST_TEST_CHANGES", 4, 4
	changes := 50
	if testing.Short() {
		changes = 10
	}
	if dir := os.Getenv(inTest); dir != "" {
		ws := require.Must(Open(dir))(t)
		var all sync.WaitGroup
		for n := range callers {
			all.Go(func() {
				for i := range changes {
					line := fmt.Sprintf("%d %d %d\n", os.Getpid(), n, i)
					_, err := ws.Change(t.Context(), "dir/file", func(old []byte, _ bool) ([]byte, error) { return append(old, line...), nil })
					require.NoError(t, err)
					if _, err := ws.Write(t.Context(), "dir/other", strings.NewReader(line)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		return
	}
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "dir"), 0o755))
	var all sync.WaitGroup
	for range processes {
		all.Go(func() {
			p := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", fmt.Sprint("-test.short=", testing.Short()))
			p.Env = append(os.Environ(), inTest+"="+dir)
			if out, err := p.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	all.Wait()
	text := content(t, filepath.Join(dir, "dir", "file"))
	if got, want := strings.Count(text, "\n"), processes*callers*changes; got != want {
		t.Errorf("%d changes of %d are in the file", got, want)
	}
}
