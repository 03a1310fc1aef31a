package pluginrun_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A start that fails with what an earlier process has found here is made again with what there is; one that
// fails with what this process has found is not.
func TestDoubtedStart(t *testing.T) {
	t.Parallel()
	const variable = "PLUGIN_TEST_NOTES"
	dir := os.Getenv(variable)
	if dir == "" {
		dir = t.TempDir()
		for range 2 { // the first process leaves a note
			cmd := exec.CommandContext(t.Context(), require.Must(os.Executable())(t), "-test.run=^TestDoubtedStart$", "-test.v")
			cmd.Env = append(os.Environ(), variable+"="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		return
	}
	sandbox.Remember(dir)
	_, err := os.Stat(filepath.Join(dir, "toolhost-sandbox"))
	noted, forks := err == nil, 0
	p := confinedBy(t, "write", func(c *pluginrun.Config) {
		pluginrun.WithFailing(c, func(all int) int {
			if forks++; forks == 1 {
				return all - 1
			}
			return -1
		})
	})
	if runs := startsInFull(t, p, "", func() {}); runs != noted {
		t.Errorf("with a note: %v; it runs: %v, after %d forks", noted, runs, forks)
	}
	if _, err := os.Stat(filepath.Join(dir, "toolhost-sandbox")); err != nil {
		t.Skipf("this system lacks something, so nothing is noted: %v", err)
	}
	if noted && sandbox.Doubt() {
		t.Error("the note counts after a start that failed with it")
	}
}
