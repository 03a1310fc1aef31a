package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/require"
)

const asProgram = "LEFTOVERS_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		grace = 200 * time.Millisecond
		main()
	}
	os.Exit(m.Run())
}

func TestLeftovers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script, says string
		status       int
	}{
		"nothing":             {`touch "$TMPDIR/x"; rm "$TMPDIR/x"; sleep 0 &`, "", 0},
		"its own status":      {"exit 3", "", 3},
		"a signal":            {"kill -9 $$", "", 137},
		"a file":              {`mkdir "$TMPDIR/kept"`, "have left kept in", 1},
		"a process":           {"sleep 1000 >&- 2>&- &", "has not: [\"sleep\" \"1000\"", 1},
		"one in a session":    {"setsid sh -c 'sleep 1001 & sleep 1002' >&- 2>&- &", "1002", 1},
		"both, and a failure": {`touch "$TMPDIR/kept"; sleep 1003 >&- 2>&- & exit 3`, "have left kept in", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			usage := filepath.Join(dir, "usage")
			tmp := filepath.Join(dir, "tmp")
			require.NoError(t, os.Mkdir(tmp, 0o700))
			cmd := exec.CommandContext(t.Context(), require.Must(os.Executable())(t), "/bin/sh", "-c", c.script)
			cmd.Env = append(os.Environ(), asProgram+"=1", "TMPDIR="+tmp, "TOOLHOST_TEST_USAGE="+usage)
			out, _ := cmd.CombinedOutput() // the status says it
			if got := cmd.ProcessState.ExitCode(); got != c.status || !strings.Contains(string(out), c.says) {
				t.Errorf("status %d, want %d; it says %q, want %q", got, c.status, out, c.says)
			}
			if left := require.Must(os.ReadDir(tmp))(t); len(left) > 0 {
				t.Errorf("it has left %v", left)
			}
			if text, err := os.ReadFile(usage); err != nil || len(strings.Fields(string(text))) != 2 {
				t.Errorf("the usage is %q, %v", text, err)
			}
		})
	}
}
