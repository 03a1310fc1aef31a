package control

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// toolQuestion is the question of a tool as it is sent.
type toolQuestion struct {
	Number int `json:"number"` // among those of the call
	tool.Question
	// Within is how long the question waits for an answer; 0: as long as the call.
	Within tool.Duration `json:"within,omitempty"`
}

// toolAnswer is its answer.
type toolAnswer struct {
	Number int `json:"number"`
	tool.Answer
	Error *tool.Error `json:"error,omitempty"` // why it could not be put
}

// questions are those of a tool that wait for an answer of the client.
type questions struct {
	mu   sync.Mutex
	last int
	open map[int]chan toolAnswer // each has room for one
}

// Ask is the [tool.Asker] of the call: it asks the client that reads the call's events.
func (r *runningCall) Ask(ctx context.Context, q tool.Question) (tool.Answer, error) {
	number, answer, err := r.beginQuestion()
	if err != nil {
		return tool.Answer{}, err
	}
	defer r.endQuestion(number)
	sent := &toolQuestion{Number: number, Question: q}
	if end, ok := ctx.Deadline(); ok {
		sent.Within = tool.Duration(max(time.Until(end), time.Millisecond))
	}
	if err := r.lines.sendNow(event{Event: eventQuestion, Question: sent}); err != nil {
		return tool.Answer{}, err
	}
	select {
	case a := <-answer:
		if a.Error != nil {
			return tool.Answer{}, a.Error
		}
		return a.Answer, nil
	case <-ctx.Done():
		return tool.Answer{}, context.Cause(ctx)
	}
}

// beginQuestion makes room for an answer. A call with open questions counts as one that waits
// for a person, like one that waits for approval.
func (r *runningCall) beginQuestion() (number int, answer chan toolAnswer, err error) {
	q := &r.questions
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.open) == 0 {
		if err := r.server.beginWaiting(r); err != nil {
			return 0, nil, err
		}
		q.open = map[int]chan toolAnswer{}
	}
	q.last++
	answer = make(chan toolAnswer, 1)
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
func (r *runningCall) answerQuestion(a toolAnswer) error {
	q := &r.questions
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case q.open[a.Number] <- a: // nil if there is none
		return nil
	default:
		return tool.Errorf(tool.CodeUnavailable, "the call has no open question %d", a.Number)
	}
}

// answerTool takes the answer to a question of a tool.
func (s *Server) answerTool(w http.ResponseWriter, r *http.Request) {
	run, err := s.runningCall(r)
	if err != nil {
		fail(w, http.StatusNotFound, err)
		return
	}
	var a toolAnswer
	if !s.readJSON(w, r, "answer", &a) {
		return
	}
	if a.Error != nil {
		a.Error.Message = fmt.Sprintf("%.*s", maxReason, a.Error.Message)
	}
	if err := run.answerQuestion(a); err != nil {
		fail(w, http.StatusConflict, err)
		return
	}
	reply(w, struct{}{})
}

// answer asks the asker and sends the answer. If it cannot be sent, the daemon is gone or the
// call has ended, which the reader notices.
func (r *callReader) answer(ctx context.Context, q toolQuestion) {
	if q.Within > 0 { // the daemon reports itself when the time is over
		var over context.CancelFunc
		ctx, over = context.WithTimeout(ctx, time.Duration(q.Within))
		defer over()
	}
	a, err := r.asker(ctx, q.Question)
	_ = r.client.post(ctx, r.address+"/answers", toolAnswer{Number: q.Number, Answer: a, Error: sentError(err)}, nil)
}
