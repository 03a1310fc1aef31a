package escape_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/test/binaries"
	"github.com/toolhost/toolhost/internal/test/require"
)

// As another user than root, all tests run again: what protects root's plugins and what
// protects others' are different things.
func TestAsOtherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("these tests run as another user")
	}
	if testing.Short() && os.Getenv("TOOLHOST_TEST_OTHER_USER") == "" {
		t.Skip("make confinement runs it")
	}
	const nobody = 65534
	dir := directory(t, ground())
	self := require.Must(os.Executable())(t)
	binary := filepath.Join(dir, "test")
	for _, err := range []error{binaries.Copy(self, binary), os.Chown(dir, nobody, nobody)} {
		require.NoError(t, err)
	}
	cmd := exec.CommandContext(t.Context(), binary, "-test.timeout=20m", fmt.Sprint("-test.short=", testing.Short()))
	cmd.Dir = dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "TMPDIR=") || strings.HasPrefix(kv, "HOME=") })
	cmd.Env = append(cmd.Env, builtVariable+"="+plugins(t), "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
