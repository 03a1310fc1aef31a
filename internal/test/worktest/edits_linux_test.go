package worktest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// Four hosts, each with an fs of its own, count in one file, each in its own line. An edit that did not
// see another's would take that one back.
func TestFourHostsLoseNoEdit(t *testing.T) {
	t.Parallel()
	const hosts = 4
	edits := 2500
	if testing.Short() {
		edits = 50
	}
	root := t.TempDir()
	file := filepath.Join(root, "counts")
	line := func(host, n int) string { return fmt.Sprintf("host %d: %d\n", host, n) }
	var before, after strings.Builder
	for i := range hosts {
		before.WriteString(line(i, 0))
		after.WriteString(line(i, edits))
	}
	require.NoError(t, os.WriteFile(file, []byte(before.String()), 0o600))
	var editors sync.WaitGroup
	for i := range hosts {
		h := ship(t, root, []string{"fs"})
		editors.Go(func() {
			for n := range edits {
				res, err := ask(t, h, "fs.edit", map[string]any{"path": "counts", "original": line(i, n), "modified": line(i, n+1)})
				if err != nil || res.IsError {
					t.Errorf("edit %d of host %d: %v %s", n, i, err, res.Text())
					return
				}
			}
		})
	}
	editors.Wait()
	assert.Equalf(t, string(require.Must(os.ReadFile(file))(t)), after.String(), "the file has")
}
