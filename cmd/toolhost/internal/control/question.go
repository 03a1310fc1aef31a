package control

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// questions are those of a tool that wait for an answer of the client.
type questions struct {
	mu   sync.Mutex
	last int
	open map[int]chan *pluginv1.Answer // each has room for one
}

// Ask is the [tool.Asker] of the call: it asks the client that reads the call's events.
func (r *runningCall) Ask(ctx context.Context, q tool.Question) (tool.Answer, error) {
	number, answer, err := r.beginQuestion()
	if err != nil {
		return tool.Answer{}, err
	}
	defer r.endQuestion(number)
	sent := Message[daemonv1.ToolQuestion](&q)
	sent.Question.Number, sent.WithinMs = uint32(number), within(ctx) //nolint:gosec // it counts questions
	if err := r.send(&daemonv1.CallResponse{Event: &daemonv1.CallResponse_Question{Question: sent}}); err != nil {
		return tool.Answer{}, err
	}
	select {
	case a := <-answer:
		return answerOf(a)
	case <-ctx.Done():
		return tool.Answer{}, context.Cause(ctx)
	}
}

func answerOf(a *pluginv1.Answer) (out tool.Answer, _ error) {
	if a.GetError() != nil {
		e := Struct[tool.Error](a.GetError())
		e.Message = fmt.Sprintf("%.*s", maxReason, e.Message)
		return out, &e
	}
	out.Content = a.GetContentJson()
	out.Action = tool.Action(a.GetAction())
	return out, nil
}

// within returns how long a question waits for an answer, in milliseconds; 0: as long as the call.
func within(ctx context.Context) int64 {
	if end, ok := ctx.Deadline(); ok {
		return max(time.Until(end).Milliseconds(), 1)
	}
	return 0
}

// beginQuestion makes room for an answer. A call with open questions counts as one that waits
// for a person, like one that waits for approval.
func (r *runningCall) beginQuestion() (number int, answer chan *pluginv1.Answer, err error) {
	q := &r.questions
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.open) == 0 {
		if err := r.server.beginWaiting(r); err != nil {
			return 0, nil, err
		}
		q.open = map[int]chan *pluginv1.Answer{}
	}
	q.last++
	answer = make(chan *pluginv1.Answer, 1)
	q.open[q.last] = answer
	return q.last, answer, nil
}

func (r *runningCall) endQuestion(number int) {
	q := &r.questions
	q.mu.Lock()
	defer q.mu.Unlock()
	if delete(q.open, number); len(q.open) == 0 {
		r.server.endWaiting(r)
	}
}

// answerQuestion passes on an answer to an open question.
func (r *runningCall) answerQuestion(a *pluginv1.Answer) error {
	q := &r.questions
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case q.open[int(a.GetNumber())] <- a: // nil if there is none
		return nil
	default:
		return tool.Errorf(tool.CodeUnavailable, "the call has no open question %d", a.GetNumber())
	}
}
