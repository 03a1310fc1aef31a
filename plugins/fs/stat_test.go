package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/internal/workspacetest"
)

func TestStat(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.WriteFile(t, "dir/file", "12345")
	p.Symlink(t, "dir", "link")
	p.Symlink(t, "../outside", "out")
	when := time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC)
	file := filepath.Join(p.Root, "dir", "file")
	require.NoError(t, os.Chtimes(file, when, when))
	require.NoError(t, os.Chmod(file, 0o600))
	for path, want := range map[string]statOut{
		"./dir/file": {Path: "dir/file", Kind: "file", Size: 5, Mode: "0600"},
		"link/file":  {Path: "link/file", Kind: "file", Size: 5, Mode: "0600"},
		"dir":        {Path: "dir", Kind: "dir", Mode: "0755"},
		"link":       {Path: "link", Kind: "symlink", Mode: "0777", Target: "dir"},
		"link/":      {Path: "link", Kind: "dir", Mode: "0755"},
		"out":        {Path: "out", Kind: "symlink", Mode: "0777", Target: "../outside"},
	} {
		got := workspacetest.Decode[statOut](t, p.Tools, "fs.stat", args{"path": path})
		if got.Size > 0 && !got.Modified.Equal(when) {
			t.Errorf("%s was modified %v", path, got.Modified)
		}
		got.Modified = time.Time{}
		assert.Equalf(t, got, want, "%s", path)
	}
	want := "path:     dir/file\nkind:     file\nsize:     5\nmodified: 2020-02-03T04:05:06Z\nmode:     0600\n"
	assert.Equalf(t, p.Must(t, "fs.stat", args{"path": "dir/file"}).Text(), want, "text")
	if got := p.Must(t, "fs.stat", args{"path": "link"}).Text(); !strings.HasSuffix(got, "target:   dir\n") {
		t.Errorf("text = %q", got)
	}
	p.WantFailure(t, "fs.stat", args{"path": "dri"}, "not found: dri (nearest names in the workspace root: dir)")
	p.WantFailure(t, "fs.stat", args{"path": "dir/file/"}, "dir/file/ is a regular file, not a directory")
}
