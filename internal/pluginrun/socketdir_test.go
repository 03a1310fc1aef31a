package pluginrun_test

import (
	"os"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// socketDir is a directory with a short path, of which nothing may be left but
// itself when the test has ended.
func socketDir(t *testing.T) string {
	t.Helper()
	dir := require.Must(os.MkdirTemp("", "th-test-"))(t)
	t.Cleanup(func() {
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 {
			t.Errorf("left in the socket directory: %v (error %v)", left, err)
		}
		_ = os.RemoveAll(dir)
	})
	return dir
}
