package process

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/procstest"
	"github.com/toolhost/toolhost/internal/test/require"
)

// The environment of a process is read as far as one can be, however large the process
// says that it is.
func TestBloatedEnviron(t *testing.T) { //nolint:paralleltest // others' memory would count
	p := &Process{mark: "none"}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = []string{bloatedVariable + "=1"}
	cmd.Stderr = os.Stderr
	stdout := require.Must(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	said := make([]byte, 100)
	n, _ := stdout.Read(said)
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	if string(said[:n]) != "bloated" {
		t.Skipf("environments cannot be moved here: %s", said[:n])
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p.group().Usage()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > procstest.Bloat/4 {
		t.Errorf("looking once took %d MiB", n>>20)
	}
}

const bloatedVariable = "TOOLHOST_TEST_BLOATED"

func init() {
	if os.Getenv(bloatedVariable) == "" {
		return
	}
	said := "bloated"
	if err := procstest.BloatEnviron(); err != nil {
		said = err.Error()
	}
	fmt.Print(said)
	for {
		time.Sleep(time.Hour)
	}
}
