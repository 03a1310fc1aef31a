package daemon

import (
	"context"
	"sync"
)

// tasks are goroutines in addition to that of the socket.
type tasks struct {
	ctx    context.Context
	cancel context.CancelFunc
	all    sync.WaitGroup
}

func newTasks() *tasks {
	t := &tasks{}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t
}

// add runs f in a goroutine. Its context ends with end, which waits for it.
func (t *tasks) add(f func(context.Context)) { t.all.Go(func() { f(t.ctx) }) }

func (t *tasks) end() {
	t.cancel()
	t.all.Wait()
}
