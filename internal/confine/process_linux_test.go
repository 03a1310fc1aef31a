package confine

import (
	"bytes"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/procstest"
	"github.com/toolhost/toolhost/internal/test/require"
)

const variable = "TOOLHOST_TEST_PROCS"

func TestMain(m *testing.M) {
	switch os.Getenv(variable) {
	case "":
		os.Exit(m.Run())
	case "bloated":
		if err := procstest.BloatEnviron(); err != nil {
			_, _ = os.Stdout.WriteString("no: " + err.Error())
			return
		}
	}
	_, _ = os.Stdout.WriteString("ready")
	for {
		time.Sleep(time.Hour)
	}
}

// child is a process of this test's binary that is ready.
func child(t *testing.T, what string) (cmd *exec.Cmd, said string) {
	t.Helper()
	cmd = exec.Command(os.Args[0]) //nolint:noctx // the test ends it
	cmd.Env = []string{variable + "=" + what}
	stdout := require.Must(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	text := make([]byte, 100)
	n := require.Must(stdout.Read(text))(t)
	return cmd, string(text[:n])
}

func soon() time.Time { return time.Now().Add(time.Minute) }

func TestKill(t *testing.T) {
	t.Parallel()
	cmd, _ := child(t, "killed")
	found := 0
	Each(soon(), func(p Process) {
		if !bytes.Contains(p.Environ(), []byte(variable+"=killed")) {
			return
		}
		found++
		if p.Number != cmd.Process.Pid || p.Namespace() == "" || len(p.File("statm")) == 0 {
			t.Errorf("found %+v in namespace %q", p, p.Namespace())
		}
		if wait := p.kill(p.number()); wait != nil {
			wait(soon())
		}
	})
	if state, err := cmd.Process.Wait(); found != 1 || err != nil || state.Success() {
		t.Errorf("found %d; it ended with %v, %v", found, state, err)
	}
}

func TestEnvironIsBounded(t *testing.T) {
	t.Parallel()
	cmd, said := child(t, "bloated")
	if said != "ready" {
		t.Skip("environments cannot be moved here:", said)
	}
	seen := 0
	Each(soon(), func(p Process) {
		if p.Number == cmd.Process.Pid {
			seen = len(p.Environ())
			if cap(*p.buffer) > 4*MaxEnviron {
				t.Errorf("%d bytes are kept", cap(*p.buffer))
			}
		}
	})
	if seen != MaxEnviron {
		t.Errorf("%d bytes were read", seen)
	}
}

func TestEachEndsInTime(t *testing.T) {
	t.Parallel()
	Each(time.Now(), func(Process) { t.Error("it was late") })
}

// Where a look at all processes takes long, as on a busy machine, those that come last are ended too.
func TestSlowLook(t *testing.T) {
	t.Parallel()
	cmd, _ := child(t, "last")
	waits := sync.OnceFunc(func() { time.Sleep(endTime + 100*time.Millisecond) })
	ended := endAll(func(p Process) bool {
		waits()
		return p.Number == cmd.Process.Pid
	})
	if ended != 1 || exists(cmd.Process.Pid) {
		t.Errorf("%d were ended; the child is there: %v", ended, exists(cmd.Process.Pid))
	}
}
