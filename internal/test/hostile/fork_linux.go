package hostile

import (
	"context"
	"os/exec"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/pluginsdk"
)

// ForkBomb is a plugin that starts processes until its user can have no more, or some
// 600, and tells what the shell that did it said last. They live on.
const ForkBomb plugintest.Mode = "forkbomb"

func forkModes() map[plugintest.Mode]func() {
	return map[plugintest.Mode]func(){ForkBomb: func() {
		haveThreads(30)
		pluginsdk.Main(pluginsdk.Func(Tool, "Starts processes.", func(ctx context.Context, _ none) (string, error) {
			warn()
			out, _ := exec.CommandContext(ctx, "/bin/sh", "-c", "i=0; while [ $i -lt 600 ]; do sleep 3600 >/dev/null 2>&1 & i=$((i+1)); done").CombinedOutput()
			return strings.TrimSpace(string(out)), nil
		}, pluginsdk.Safe()))
	}}
}

// haveThreads has the runtime start threads, which it keeps, so that it needs no more
// where it can have none.
func haveThreads(n int) {
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			second := unix.NsecToTimespec(int64(100 * time.Millisecond))
			_ = unix.Nanosleep(&second, nil)
		})
	}
	all.Wait()
}
