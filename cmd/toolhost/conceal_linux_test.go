package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// A plugin that runs as the same user cannot read what is in toolhost's environment,
// be it root's or anybody's. (The started command is another user's than the test's
// where that is root, as in CI.)
func TestConcealed(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]uint32{"this user": uint32(os.Geteuid()), "an ordinary user": 65534} { //nolint:gosec // small numbers
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if id == 65534 && os.Geteuid() != 0 {
				t.Skip("only root can become another user")
			}
			w := newWorld(t, "player")
			require.NoError(t, os.Chmod(filepath.Dir(w.root), 0o755)) //nolint:gosec // the other user is to get in
			for _, dir := range []string{w.tmp, w.state, w.root, w.plugins, filepath.Join(w.plugins, "player")} {
				require.NoError(t, os.Chown(dir, int(id), -1))
			}
			cmd := w.command("call", "play.peek", `{"text":"s3cr3t-of-`+name+`"}`, "--json", "--plugin-dir", w.plugins)
			cmd.Env = append(cmd.Env, "TOKEN=s3cr3t-of-"+name)
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: uint32(os.Getegid())}} //nolint:gosec // a small number
			cmd.Path = copied(t, cmd.Path)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			var got struct {
				Structured struct{ Read, Found int }
			}
			if err != nil || json.Unmarshal(out, &got) != nil {
				t.Fatalf("%v: %s%s", err, out, stderr.String())
			}
			if got.Structured.Read == 0 || got.Structured.Found != 0 {
				t.Errorf("the plugin read %d environments and found the secret in %d", got.Structured.Read, got.Structured.Found)
			}
		})
	}
}

// copied is a copy of a program where every user can run it.
func copied(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "toolhost")
	if out, err := exec.CommandContext(t.Context(), "cp", path, to).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	return to
}
