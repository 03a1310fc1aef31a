package pluginrun

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/require"
)

// An operator is shown what was said, and not the paths that go with it.
func TestProgramsAreShownAsTheyWereSaid(t *testing.T) {
	t.Parallel()
	home := require.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	require.NoError(t, os.MkdirAll(filepath.Join(home, "sdk", "bin"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, "sdk", "bin", "go"), nil, 0o700)) //nolint:gosec // a program
	require.NoError(t, os.MkdirAll(filepath.Join(home, "sdk", "pkg", "tool"), 0o700))
	c := Config{Root: "/w", Settings: plugin.Settings{Sandbox: plugin.Sandbox{Read: []string{"workspace"}, Write: []string{}, Net: []string{}, Exec: []string{"go", "no-such-program"}}}}
	c.Env = []string{"PATH=" + filepath.Join(home, "sdk", "bin"), "HOME=" + home}
	p := c.profile("/p/x", "/p/x", "")
	if got, want := p.Exec.String(), "go, and what belongs to it"; got != want || len(p.Exec.List) < 2 {
		t.Errorf("exec is %q, want %q: %q", got, want, p.Exec.List)
	}
	if got, want := p.Read.String(), "/w, and what belongs to it"; got != want {
		t.Errorf("read is %q, want %q", got, want)
	}
}
