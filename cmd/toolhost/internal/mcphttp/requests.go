package mcphttp

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"
)

// errEnded is why a request of a caller ends before its answer.
var errEnded = errors.New("the server ends the request: its token does not count any more, or the server ends")

// request is one of a caller, while it is answered.
type request struct {
	identity
	waits  bool // the client waits for news, and not for an answer
	cancel context.CancelCauseFunc
}

// requests are those that are answered.
type requests struct {
	most int // of one caller

	mu  sync.Mutex
	all map[*request]bool
	of  map[string]int // by caller
}

// begin adds a request, unless its caller has as many as it may have. Its context ends with end.
func (q *requests) begin(r *http.Request, by identity) (_ *http.Request, done func(), ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.all == nil {
		q.all, q.of = map[*request]bool{}, map[string]int{}
	}
	if q.of[by.caller] >= q.most {
		return nil, nil, false
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := func() {}
	if !by.expires.IsZero() {
		ctx, stop = context.WithDeadlineCause(ctx, by.expires, errEnded)
	}
	one := &request{by, waitsForNews(r), cancel}
	q.all[one] = true
	q.of[by.caller]++
	return r.WithContext(ctx), func() {
		stop()
		cancel(nil)
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.all, one)
		if q.of[by.caller]--; q.of[by.caller] == 0 {
			delete(q.of, by.caller)
		}
	}, true
}

// waitsForNews reports whether a request is one that the server answers with notifications only,
// as long as there are any.
func waitsForNews(r *http.Request) bool {
	return r.Method == http.MethodGet || strings.EqualFold(r.Header.Get("Mcp-Method"), "subscriptions/listen")
}

// await waits until clients wait for news only, or ctx ends. It reports whether others had to be
// waited for.
func (q *requests) await(ctx context.Context) (waited bool) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		q.mu.Lock()
		n := 0
		for one := range q.all {
			if !one.waits {
				n++
			}
		}
		q.mu.Unlock()
		if n == 0 {
			return waited
		}
		waited = true
		select {
		case <-ctx.Done():
			return waited
		case <-tick.C:
		}
	}
}

// end ends those requests that are selected.
func (q *requests) end(selected func(*request) bool) {
	q.mu.Lock()
	var all []*request
	for one := range q.all {
		all = append(all, one)
	}
	q.mu.Unlock()
	for _, one := range all {
		if selected(one) {
			one.cancel(errEnded)
		}
	}
}
