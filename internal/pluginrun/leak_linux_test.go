package pluginrun_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Starts, crashes, starts that fail and shutdowns leave no goroutine and no
// descriptor. (Processes and sockets are looked for after every test.) It is not
// parallel, so those of other tests are not counted.
func TestNothingIsLeft(t *testing.T) { //nolint:paralleltest // it counts
	tmp := socketDir(t)
	cycle := func() {
		for _, mode := range []plugintest.Mode{plugintest.Crasher, plugintest.Quitter, plugintest.OldCore, plugintest.TCP} {
			found, _, err := pluginrun.Discover(plugintest.Dir(t, mode))
			require.NoError(t, err)
			p := pluginrun.New(found[0], pluginrun.Config{Root: t.TempDir(), TempDir: tmp, Settings: plugin.Settings{StartTimeout: ceiling}})
			if mode == plugintest.Crasher {
				call(t, p, "crash.pid", "{}")
				if _, err := p.Execute(t.Context(), tool.Call{Name: "crash.exit", Arguments: []byte(`{"code":1}`)}); err == nil {
					t.Error("it did not crash")
				}
				call(t, p, "crash.pid", "{}")
			} else if _, err := p.List(t.Context()); err == nil {
				t.Errorf("%s started", mode)
			}
			assert.NoError(t, p.Close(t.Context()))
		}
	}
	leavesNothing(t, cycle)
}

// leavesNothing fails the test if a function leaves goroutines or descriptors.
func leavesNothing(t *testing.T, cycle func()) {
	t.Helper()
	cycle() // what the runtime keeps once it was used does not count
	goroutines, files := runtime.NumGoroutine(), descriptors(t)
	for range 3 {
		cycle()
	}
	// Goroutines that were told to end need a moment.
	require.Eventually(t, fmt.Sprintf("there are no more than %d goroutines and %d descriptors", goroutines, files), func() bool {
		return runtime.NumGoroutine() <= goroutines && descriptors(t) <= files
	})
}

func descriptors(t *testing.T) int {
	t.Helper()
	fds := require.Must(os.ReadDir("/proc/self/fd"))(t)
	return len(fds)
}
