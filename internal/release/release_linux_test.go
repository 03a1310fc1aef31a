package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A release is made twice with the same bytes, and runs in the directory that it is unpacked to: command and
// plugins, without a configuration.
func TestRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute: .ci/long runs it")
	}
	t.Chdir(filepath.Join("..", ".."))
	platform := runtime.GOOS + "/" + runtime.GOARCH
	first, second, place := t.TempDir(), t.TempDir(), t.TempDir()
	for _, out := range []string{first, second} {
		require.NoError(t, release(out, []string{platform}))
	}
	sums := require.Must(os.ReadFile(filepath.Join(first, "SHA256SUMS")))(t)
	again, err := os.ReadFile(filepath.Join(second, "SHA256SUMS"))
	if err != nil || string(sums) != string(again) {
		t.Errorf("two runs give %s and %s (%v)", sums, again, err)
	}
	run := func(dir, name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + place, "TMPDIR=" + os.TempDir(), "TOOLHOST_SOCKET=off"}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
		return string(out)
	}
	run(first, "sha256sum", "-c", "--strict", "SHA256SUMS")
	archive := strings.Fields(string(sums))[1]
	run(place, "tar", "-xzf", filepath.Join(first, archive))
	unpacked := filepath.Join(place, strings.TrimSuffix(archive, ".tar.gz"))
	var tools []struct{ Name, Plugin string }
	require.NoError(t, json.Unmarshal([]byte(run(unpacked, "./toolhost", "tools", "--json")), &tools))
	plugins := map[string]bool{}
	for _, x := range tools {
		plugins[x.Plugin] = true
	}
	assert.Equalf(t, len(plugins), 4, "the release has tools of %v", plugins)
	if out := run(unpacked, "./toolhost", "call", "fs.read", "--arg", "path=LICENSE", "--grant", "fs:read"); !strings.Contains(out, "Apache") {
		t.Errorf("fs.read says %q", out)
	}
}
