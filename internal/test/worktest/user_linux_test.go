package worktest_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
)

// As another user than root, all tests run again: what makes its sandboxes are other mechanisms.
func TestAsOtherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("these tests run as another user")
	}
	if testing.Short() && os.Getenv("TOOLHOST_TEST_OTHER_USER") == "" {
		t.Skip("make confinement runs it")
	}
	const nobody = 65534
	dir := require.Must(os.MkdirTemp("", "worktest-"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	shipped := shippedPlugins(t)
	binary := plugintest.InstallSelf(t, dir, "test")
	require.NoError(t, os.Chown(dir, nobody, nobody))
	// That user has compiled nothing: once, by TestGo, is enough.
	cmd := exec.CommandContext(t.Context(), binary, "-test.timeout=20m", fmt.Sprint("-test.short=", testing.Short()), "-test.v", "-test.skip=TestShipped(Introspection|Execution)|TestTraceGo|TestEmbedded")
	cmd.Dir = dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "TMPDIR=") || strings.HasPrefix(kv, "HOME=") || strings.HasPrefix(kv, "XDG_") || strings.HasPrefix(kv, "GO")
	})
	cmd.Env = append(cmd.Env, "TMPDIR="+dir, "HOME="+dir, shippedVariable+"="+shipped.plugins)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
