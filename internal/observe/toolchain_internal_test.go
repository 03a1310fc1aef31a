package observe

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// distribution makes a tree with a go command and its tools.
func distribution(t *testing.T, tree string) (program string) {
	t.Helper()
	for _, dir := range []string{"bin", "pkg/tool"} {
		require.NoError(t, os.MkdirAll(filepath.Join(tree, dir), 0o700))
	}
	program = filepath.Join(tree, "bin", "go")
	if err := os.WriteFile(program, nil, 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	return program
}

// With go come its tree, its tools, its settings, the modules wherever these are by the
// environment or the settings, and the toolchains among them.
func TestCompanionsOfGo(t *testing.T) {
	t.Parallel()
	home := require.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	in := func(path string) string { return filepath.Join(home, path) }
	program := distribution(t, in("sdk"))
	require.NoError(t, os.Symlink(program, in("link")))
	distribution(t, in("other"))
	settings := in(".config/go/env")
	require.NoError(t, os.MkdirAll(filepath.Dir(settings), 0o700))
	require.NoError(t, os.WriteFile(settings, []byte("GOFLAGS=-mod=mod\nGOPATH="+in("configured")+"\n"), 0o600))
	for name, c := range map[string]struct {
		env        []string
		tree, mods string
	}{
		"by default":         {[]string{"GOENV=off"}, "sdk", "go/pkg/mod"},
		"by its settings":    {nil, "sdk", "configured/pkg/mod"},
		"by GOPATH":          {[]string{"GOPATH=" + in("one") + ":" + in("two")}, "sdk", "one/pkg/mod"},
		"by GOMODCACHE":      {[]string{"GOPATH=" + in("one"), "GOMODCACHE=" + in("mods")}, "sdk", "mods"},
		"by GOROOT":          {[]string{"GOENV=off", "GOROOT=" + in("other")}, "other", "go/pkg/mod"},
		"with a bad setting": {[]string{"GOENV=off", "GOMODCACHE=mods"}, "sdk", "go/pkg/mod"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			toolchain := in(c.mods + "/golang.org/toolchain@v0.0.1-go1.99.0.linux-amd64")
			distribution(t, toolchain)
			read, exec := Companions([]string{in("link"), in("none")}, append(c.env, "HOME="+home))
			for _, want := range []string{in(c.tree), in(c.mods)} {
				if !slices.Contains(read, want) {
					t.Errorf("%s cannot be read: %q", want, read)
				}
			}
			if off := slices.Contains(c.env, "GOENV=off"); off == slices.Contains(read, settings) {
				t.Errorf("its settings: %q", read)
			}
			for _, want := range []string{in(c.tree + "/pkg/tool"), toolchain + "/bin", toolchain + "/pkg/tool"} {
				if !slices.Contains(exec, want) {
					t.Errorf("%s cannot be started: %q", want, exec)
				}
			}
			assert.Equalf(t, len(exec), 3, "it can start %q", exec)
		})
	}
}
