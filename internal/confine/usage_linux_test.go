package confine

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// What is not a child of this process is not counted, whatever number it has, nor is more than was asked for; and
// processes that end while they are looked at take nothing with them.
func TestUsageBelow(t *testing.T) {
	t.Parallel()
	for name, pid := range map[string]int{"this process": os.Getpid(), "its parent": os.Getppid(), "the first": 1, "none": 1 << 30} {
		if u, all := UsageBelow(pid, 100); u != (Usage{}) || all != nil {
			t.Errorf("%s: %+v of %v", name, u, all)
		}
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "while :; do /bin/true & /bin/true; done")
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	most := 0
	require.Eventually(t, "the shell has others below it, and used a processor", func() bool {
		u, all := UsageBelow(cmd.Process.Pid, 100)
		if len(all) == 0 || all[0] != cmd.Process.Pid || slices.Contains(all, os.Getpid()) || Descriptors(all) > 100*len(all) {
			t.Fatalf("%+v of %v", u, all)
		}
		most = max(most, len(all))
		return most > 1 && u.CPU > 0 && u.Memory > 0
	})
	if _, all := UsageBelow(cmd.Process.Pid, 1); len(all) != 1 {
		t.Errorf("more than one: %v", all)
	}
}
