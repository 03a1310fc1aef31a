package roster

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/test/require"
)

// orphan starts a process that says that a host started it which is dead, and returns that host and the process's end.
func orphan(t *testing.T) (owner string, ended <-chan error) {
	t.Helper()
	_, mark, _ := strings.Cut(confine.NewRun().Mark, ".")
	mark = strconv.Itoa(1<<30) + "." + mark // the number of no process
	cmd := exec.CommandContext(t.Context(), "sleep", "600")
	cmd.Env = []string{confine.RunVariable + "=" + mark}
	require.NoError(t, cmd.Start())
	end := make(chan error, 1)
	go func() { end <- cmd.Wait() }()
	owner, _, _ = strings.Cut(mark, "/")
	return owner, end
}

// What a killed host left is ended by the next one at once if its directory tells, or by one that lives on.
func TestSweep(t *testing.T) {
	t.Parallel()
	for _, told := range []bool{true, false} {
		tmp := require.Must(os.MkdirTemp("/tmp", "sweep-"))(t)
		t.Cleanup(func() { require.NoError(t, os.RemoveAll(tmp)) })
		owner, ended := orphan(t)
		if told {
			dir := filepath.Join(tmp, confine.DirPrefix+"dead")
			require.NoError(t, os.Mkdir(dir, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "owner"), []byte(owner), 0o600))
		}
		life, end := context.WithCancel(t.Context())
		end()
		brief := &socketDirs{life: life}
		brief.sweep(tmp)
		require.NoError(t, brief.close(t.Context())) // waits for it
		if !told {
			lasting := &socketDirs{life: t.Context()}
			lasting.sweep(tmp)
			defer func() { require.NoError(t, lasting.close(t.Context())) }()
		}
		select {
		case err := <-ended:
			if err == nil {
				t.Error("the process ended by itself")
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("told: %v; the process lives on", told)
		}
	}
}
