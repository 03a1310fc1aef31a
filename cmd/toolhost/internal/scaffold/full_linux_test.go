package scaffold

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/fulldisk"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A disk that fills while a project is written leaves nothing of it.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	fulldisk.Run(t, func(t *testing.T, dir string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 32<<10), 0o600))
		if _, err := (Project{Name: "sky", Language: Node}).Write(dir); !safefile.IsFull(err) {
			t.Errorf("%v", err)
		}
		assert.Equalf(t, tree(t, dir), "filler\n", "it leaves")
	})
}
