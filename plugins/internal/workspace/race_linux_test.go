package workspace

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/toolhost/toolhost/plugins/internal/workspacetest"
	"golang.org/x/sys/unix"
)

func TestDirectorySwappedForALink(t *testing.T) {
	t.Parallel()
	ws, root, outside := space(t)
	dir, other := filepath.Join(root, "dir"), filepath.Join(root, "other")
	workspacetest.WriteFile(t, filepath.Join(dir, "secret"), "inside")
	workspacetest.Symlink(t, "../outside", other)
	exchange := func() error {
		return errors.Join(unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE), linger(root))
	}
	if err := exchange(); err != nil {
		t.Skipf("this file system does not exchange names: %v", err)
	}
	stop := race(t, exchange)
	tryAll(t, ws)
	stop()
	wantNoTemp(t, root) // now that nothing moves
	wantUntouched(t, outside)
}
