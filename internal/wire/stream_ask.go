package wire

import (
	"context"
	"sync"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// questions is what a call has asked, at the host's end.
type questions struct {
	ctx    context.Context // ends with the call
	cancel context.CancelFunc
	ask    tool.Asker

	mu   sync.Mutex
	open map[uint32]bool // by number
}

func newQuestions(ctx context.Context, ask tool.Asker) *questions {
	q := &questions{ask: ask, open: map[uint32]bool{}}
	q.ctx, q.cancel = context.WithCancel(ctx)
	return q
}

// ask answers a question of a call.
//
// # Errors
//
// ask returns [ErrProtocol] if the call is over or asks too many questions.
func (s *Stream) ask(number uint32, b []byte) error {
	id, q, err := parseQuestion(b)
	if err != nil {
		return protocolError("%v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.calls[number]
	if k == nil {
		return protocolError("a question of a call that was not made or is answered already (number %d)", number)
	}
	if k.asked++; k.asked > maxQuestions {
		return protocolError("more than %d questions of one call", maxQuestions)
	}
	switch {
	case k.abandoned: // the plugin does not know yet
		return nil
	case k.questions == nil:
		_, err := tool.Ask(context.Background(), q) // which belongs to no call
		s.reply(number, encodeAnswer(id, tool.Answer{}, err))
		return nil
	}
	return k.questions.begin(s, number, id, q)
}

// begin puts a question to the caller, in a goroutine of its own: it waits for a person. The
// goroutine ends soon after the call, as a [tool.Asker] does.
func (q *questions) begin(s *Stream, number, id uint32, asked tool.Question) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.open[id]:
		return protocolError("a question with the number of an open one (%d)", id)
	case len(q.open) == maxOpenQuestions:
		s.reply(number, encodeAnswer(id, tool.Answer{}, tool.Errorf(tool.CodeResourceExhausted,
			"%d questions of the call are open already", maxOpenQuestions)))
		return nil
	}
	q.open[id] = true
	go func() {
		a, err := q.ask(q.ctx, asked)
		text := encodeAnswer(id, a, err)
		q.mu.Lock()
		defer q.mu.Unlock()
		if delete(q.open, id); q.ctx.Err() == nil {
			s.reply(number, text)
		}
	}()
	return nil
}

// end makes the questions that are open end with their call.
func (q *questions) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.cancel()
}

// reply sends an answer.
func (s *Stream) reply(number uint32, text []byte) {
	s.out.control(kindAnswer, number, text)
	s.out.flushAsync()
}
