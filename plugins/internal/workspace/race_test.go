package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/plugins/internal/workspacetest"
)

// tryAll reads, lists and writes below "dir" while another goroutine exchanges it, and
// checks that nothing outside is ever seen. It goes on until enough calls went
// through and enough failed, but not forever.
func tryAll(t *testing.T, ws *Workspace) {
	t.Helper()
	const enough, most = 50, 5000
	through, failed, tries := 0, 0, 0
	count := func(err error) {
		if err == nil {
			through++
		} else {
			failed++
		}
	}
	for ; tries < most && min(through, failed) < enough; tries++ {
		got, err := read(ws, "dir/secret")
		if count(err); err == nil && got != "inside" && got != "also inside" {
			t.Fatalf("read %q", got)
		}
		_, err = ws.Write(t.Context(), "dir/secret", strings.NewReader("also inside"))
		count(err)
		_, err = ws.Write(t.Context(), "dir/sub/new", strings.NewReader("also inside"))
		count(err)
		l, err := list(t.Context(), ws, "dir", deep, 0)
		count(err)
		for _, e := range l {
			if e.Kind == File && e.Size == int64(len("outside")) {
				t.Fatalf("listed %v", e)
			}
		}
	}
	t.Logf("in %d rounds %d calls went through, %d failed", tries, through, failed)
}

func TestLinkSwappedIn(t *testing.T) {
	t.Parallel()
	ws, root, outside := space(t)
	dir, spare := filepath.Join(root, "dir"), filepath.Join(root, "spare")
	workspacetest.WriteFile(t, filepath.Join(root, "real", "secret"), "inside")
	workspacetest.Symlink(t, "real", dir)
	stop := race(t, func() error {
		return errors.Join(
			os.Symlink("../outside", spare), os.Rename(spare, dir),
			os.Symlink("real", spare), os.Rename(spare, dir), linger(root),
			os.Symlink(outside, spare), os.Rename(spare, dir),
			os.Symlink("real", spare), os.Rename(spare, dir), linger(root))
	})
	tryAll(t, ws)
	stop()
	wantNoTemp(t, root) // now that nothing moves
	wantUntouched(t, outside)
}

func TestFileSwappedForALink(t *testing.T) {
	t.Parallel()
	ws, root, outside := space(t)
	file, spare := filepath.Join(root, "dir", "secret"), filepath.Join(root, "spare")
	workspacetest.WriteFile(t, file, "inside")
	stop := race(t, func() error {
		return errors.Join(
			os.Symlink("../../outside/secret", spare), os.Rename(spare, file),
			os.WriteFile(spare, []byte("inside"), 0o644), os.Rename(spare, file), linger(root))
	})
	tryAll(t, ws)
	stop()
	wantNoTemp(t, root) // now that nothing moves
	wantUntouched(t, outside)
}

// race repeats f in a goroutine until it is stopped or fails.
func race(t *testing.T, f func() error) (stop func()) {
	t.Helper()
	quit := make(chan struct{})
	var racer sync.WaitGroup
	racer.Go(func() {
		for {
			select {
			case <-quit:
				return
			default:
			}
			if err := f(); err != nil {
				t.Errorf("the racer fell: %v", err)
				return
			}
		}
	})
	stop = sync.OnceFunc(func() {
		close(quit)
		racer.Wait()
	})
	t.Cleanup(stop)
	return stop
}

// linger leaves things as they are for about as long as a call takes, so that
// some go through.
func linger(root string) (err error) {
	for range 20 {
		_, err = os.ReadDir(root)
	}
	return err
}
