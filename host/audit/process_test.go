package audit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// child is this binary as another process.
func child(t *testing.T, what string, args ...string) *exec.Cmd {
	t.Helper()
	exe := require.Must(os.Executable())(t)
	cmd := exec.CommandContext(t.Context(), exe, args...)
	// With the race detector a process takes a second to end, if it may.
	cmd.Env = append(os.Environ(), childVariable+"="+what, "GORACE=atexit_sleep_ms=0")
	return cmd
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	const processes, lines = 4, 200
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	ended := make(chan error)
	for i := range processes {
		cmd := child(t, "write", path, fmt.Sprintf("child-%d", i), fmt.Sprint(lines))
		go func() {
			out, err := cmd.CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			ended <- err
		}()
	}
	f := open(t, path, Options{MaxSize: 20_000, Keep: -1})
	for left := processes; left > 0; {
		select {
		case err := <-ended:
			assert.NoError(t, err)
			left--
		default: // read and write meanwhile
			write(t, f, 1)
			if r := verify(t, path); r.Break != nil {
				t.Errorf("while it is written:\n%s", r)
			}
		}
	}
	r := verify(t, path)
	if r.Break != nil || r.Files < 5 {
		t.Errorf("the report is\n%s", r)
	}
	written := map[string]int{}
	for e, err := range Search(t.Context(), path, Filter{Session: "child"}) {
		require.NoError(t, err)
		written[e.Session+" "+e.Call]++
	}
	equal(t, "the number of different lines", len(written), processes*lines)
}

// A process that is killed takes no lock with it, and breaks nothing.
func TestKilled(t *testing.T) {
	t.Parallel()
	f, path := newLog(t, 0, Options{MaxSize: 20_000, Keep: -1})
	for range 3 {
		cmd := child(t, "write", path, "child", "1000000")
		require.NoError(t, cmd.Start())
		for own, before := uint64(0), f.last.seq; f.last.seq < before+own+100; own++ { // the child writes
			write(t, f, 1)
		}
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
		write(t, f, 1)
		if r := verify(t, path); r.Break != nil {
			t.Errorf("when it was killed:\n%s", r)
		}
	}
}
