package wire

import (
	"context"
	"sync"

	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/internal/form"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// asking is what a handler has asked, at the plugin's end.
type asking struct {
	*deadline.Pausable // the time limit of the call, which stands still while a question is open

	mu    sync.Mutex
	last  uint32
	open  map[uint32]chan answered // each has room for one
	waits int                      // for a person here
}

// ask is the [tool.Asker] of a handler.
func (r *run) ask(ctx context.Context, q tool.Question) (tool.Answer, error) {
	if err := form.Check(q.Message, q.Schema); err != nil {
		return tool.Answer{}, tool.Errorf(tool.CodeInvalidArguments, "%w", err)
	}
	number, answer := r.asking.begin()
	defer r.asking.end(number)
	if r.finished.Load() {
		return tool.Answer{}, context.Canceled
	}
	resume := r.asking.Pause()
	defer resume()
	r.service.out.control(kindAsk, r.number, encodeQuestion(number, q))
	r.service.flush()
	select {
	case a := <-answer:
		return a.answer, a.err
	case <-ctx.Done():
		return tool.Answer{}, context.Cause(ctx)
	case <-r.Done():
		return tool.Answer{}, deadline.Cause(r)
	}
}

func (a *asking) begin() (number uint32, answer chan answered) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	answer = make(chan answered, 1)
	if a.open == nil {
		a.open = map[uint32]chan answered{}
	}
	a.open[a.last] = answer
	return a.last, answer
}

func (a *asking) end(number uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, number)
}

// waits tells the caller that the call waits for a person here, and when it goes on.
func (r *run) waits(string) (stop func()) {
	resume := r.asking.Pause()
	r.wait(1)
	return func() {
		resume()
		r.wait(-1)
	}
}

func (r *run) wait(more int) {
	a := r.asking
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.waits > 0
	if a.waits += more; before != (a.waits > 0) && !r.finished.Load() {
		r.service.out.control(kindWaits, r.number, []byte{byte(min(a.waits, 1))})
		r.service.out.flushAsync()
	}
}

// answered passes an answer on to the handler that waits for it, if one does.
func (v *service) answered(number uint32, b []byte) error {
	v.mu.Lock()
	call := v.runs[number]
	v.mu.Unlock()
	if call == nil || !call.asks {
		return nil
	}
	id, a, err := parseAnswer(b)
	if err != nil {
		return err
	}
	call.asking.mu.Lock()
	defer call.asking.mu.Unlock()
	if answer := call.asking.open[id]; answer != nil {
		delete(call.asking.open, id)
		answer <- a
	}
	return nil
}
