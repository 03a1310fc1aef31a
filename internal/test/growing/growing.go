// Package growing is for tests of what removes directories in which others are busy. Use
// [Directory].
package growing

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Directory keeps two thousand directories in a directory, and puts those that are
// removed back faster than one process removes them: from when it returns until the test
// has ended, and for 30 s at most.
func Directory(t testing.TB, dir string) {
	t.Helper()
	const names = 500
	stop, end := make(chan struct{}), time.Now().Add(30*time.Second)
	var all, grown sync.WaitGroup
	for i := range 4 {
		grown.Add(1)
		begun := sync.OnceFunc(grown.Done)
		all.Go(func() {
			defer begun()
			for n := 0; time.Now().Before(end); n++ {
				select {
				case <-stop:
					return
				default:
				}
				if n == names {
					begun()
				}
				_ = os.Mkdir(filepath.Join(dir, fmt.Sprintf("%d-%d", i, n%names)), 0o700) // it may be gone
			}
		})
	}
	grown.Wait()
	t.Cleanup(func() {
		close(stop)
		all.Wait()
	})
}
