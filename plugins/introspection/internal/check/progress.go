package check

import (
	"context"
	"fmt"
	"sync"

	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// progress tells all calls that wait for the same work how far it has got. The zero
// progress is ready to use, and safe for concurrent use.
type progress struct {
	mu          sync.Mutex
	watchers    map[int]func(tool.Progress)
	next        int
	done, total int // files parsed, and files of packages checked
	reported    int
}

// steps is how many reports a piece of work makes, about.
const steps = 50

// watch reports to a call until it calls stop.
func (p *progress) watch(ctx context.Context) (stop func()) {
	report := callctx.Get[func(tool.Progress)](ctx, callctx.Progress{})
	if report == nil {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watchers == nil {
		p.watchers = map[int]func(tool.Progress){}
	}
	id := p.next
	p.next++
	p.watchers[id] = report
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.watchers, id)
	}
}

// begin starts work on so many files.
func (p *progress) begin(files int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.total, p.reported = 0, 2*files, 0
	p.report(fmt.Sprintf("reading %d files", files))
}

// add counts files that were parsed or checked.
func (p *progress) add(files int, doing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = min(p.done+files, p.total)
	if (p.done-p.reported)*steps >= p.total {
		p.reported = p.done
		p.report(doing)
	}
}

// report sends a report to all calls. The lock is held, so that reports arrive in order.
func (p *progress) report(doing string) {
	for _, report := range p.watchers {
		report(tool.Progress{Done: float64(p.done), Total: float64(p.total), Message: doing})
	}
}
