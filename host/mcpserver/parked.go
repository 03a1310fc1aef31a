package mcpserver

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/internal/mcpwire"
)

// From revision 2026-07-28 on, a server sends no requests. A call that has a question is parked:
// its request is answered by the question and a state, and the call waits. The client sends the
// request again, with the answer and the state, and the call goes on under the new request. See
// state.go for what a state is.

var (
	errGone       = errors.New("the client is gone")
	errUnanswered = errors.New("the question was not answered in time")
)

// work is what a request asks for. It runs once, however many requests it takes.
type work func(context.Context) (mcp.Result, error)

// parking is the part of a call that can be parked.
type parking struct {
	id   string // identifies the call in states
	key  requestKey
	done chan struct{} // closed when result and err are set
	wake chan struct{} // receives when there is a question to put
	task *tasking      // nil: the call does not become a task

	result mcp.Result
	err    error

	// Guarded by the mutex of the call.
	questions map[string]*question
	early     mcp.InputResponseMap // to questions of a mounted server, sent before they were asked
	asked     int                  // numbers questions
	nonce     []byte               // of the state that is good; nil: none is
	closed    error                // why no question can be put any more
	tasked    bool                 // the call is a task, of which its questions are
	expire    *time.Timer
}

// question is one that is put to a client.
type question struct {
	ask    mcp.InputRequest
	answer chan mcp.InputResponse // has room for the answer; nil: there is none
	ctx    context.Context        // of whoever waits for it
	sent   bool                   // it is a question of the task
}

// maxKey bounds the key of a question that an upstream chose, in bytes.
const maxKey = 128

// questionResult is a result that asks the client for something.
type questionResult struct {
	mcp.ResultBase
	ResultType    string              `json:"resultType"`
	InputRequests mcp.InputRequestMap `json:"inputRequests"`
	RequestState  string              `json:"requestState"`
}

// answer does the work of a request, or goes on with the one whose state it brings.
func (c *clientSession) answer(
	ctx context.Context, at *request, key requestKey, state string, answers mcp.InputResponseMap, f work,
) (mcp.Result, error) {
	if state != "" && at.latest {
		return c.resume(ctx, at, key, state, answers)
	}
	at.early = answers
	return c.run(ctx, at, key, f)
}

// run does the work of a request in the goroutine of its handler, or, if the client can be
// asked meanwhile without being sent requests, in one that outlives the handler.
func (c *clientSession) run(ctx context.Context, at *request, key requestKey, f work) (mcp.Result, error) {
	if !at.latest || !at.asks() && at.task == nil {
		r := c.newRun(ctx, at)
		defer r.end()
		if at.post != nil {
			defer context.AfterFunc(at.post, func() { r.cancel(errGone) })()
		}
		return f(r)
	}
	r := c.newRun(context.WithoutCancel(ctx), at)
	r.parking = &parking{
		id: rand.Text(), key: key, done: make(chan struct{}), wake: make(chan struct{}, 1), questions: map[string]*question{},
		early: at.early, task: at.task,
	}
	if at.task != nil && at.task.after == 0 {
		if res := r.startTask(ctx, f); res != nil {
			return res, nil
		}
	}
	r.begin(f)
	return r.wait(ctx)
}

// begin does the work of a call that can be parked.
func (r *running) begin(f work) {
	go func() {
		defer close(r.parking.done)
		defer r.end()
		defer func() {
			if v := recover(); v != nil {
				r.parking.err = r.client.server.recovered(v)
			}
		}()
		roomy()
		r.parking.result, r.parking.err = f(r)
	}()
}

// resume goes on with a parked call, under the request that brings the answers.
func (c *clientSession) resume(
	ctx context.Context, at *request, key requestKey, state string, answers mcp.InputResponseMap,
) (mcp.Result, error) {
	r, err := c.unpark(key, state)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.at, r.before = at, at
	for id, answer := range answers {
		if q := r.parking.questions[id]; q != nil && fits(q.ask, answer) {
			delete(r.parking.questions, id)
			q.answer <- answer
		}
	}
	if len(r.parking.questions) > 0 { // ask again for what is missing
		r.parking.wakeUp()
	}
	r.mu.Unlock()
	return r.wait(ctx)
}

// fits reports whether an answer is of the kind that was asked for.
func fits(ask mcp.InputRequest, answer mcp.InputResponse) bool {
	switch answer.(type) {
	case *mcp.ElicitResult:
		_, ok := ask.(*mcp.ElicitParams)
		return ok
	case *mcp.CreateMessageWithToolsResult:
		_, ok := ask.(*mcp.CreateMessageWithToolsParams)
		return ok
	case *mcp.ListRootsResult:
		_, ok := ask.(*mcp.ListRootsParams)
		return ok
	}
	return false
}

// wait returns the result of the call, or its questions. A call that ends while it is parked, as a
// question of a mounted server need not hold it up, keeps its result until the client returns, or
// the state expires.
func (r *running) wait(ctx context.Context) (mcp.Result, error) {
	late, stop := r.parking.task.patience()
	defer stop()
	for {
		select {
		case <-r.parking.done:
			r.client.server.forget(r)
			return r.parking.result, r.parking.err
		case <-r.parking.wake:
			if res, err := r.park(); res != nil || err != nil {
				return res, err
			}
		case <-late:
			if res := r.becomeTask(ctx); res != nil {
				return res, nil
			}
		case <-ctx.Done():
			r.cancel(errGone)
			<-r.parking.done
			r.client.server.forget(r)
			return nil, ctx.Err()
		}
	}
}

// newID returns the ID of a question that no other has, and no mounted server gave one of its own.
func (p *parking) newID() string {
	for {
		p.asked++
		if id := "q" + strconv.Itoa(p.asked); p.questions[id] == nil {
			return id
		}
	}
}

func (p *parking) wakeUp() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// put puts a question to the client and waits for the answer.
func (r *running) put(ctx context.Context, ask mcp.InputRequest) (mcp.InputResponse, error) {
	q := &question{ask: ask, answer: make(chan mcp.InputResponse, 1), ctx: ctx}
	r.mu.Lock()
	p := r.parking
	if p.closed != nil {
		defer r.mu.Unlock()
		return nil, p.closed
	}
	others, several := mcpwire.MemberFrom(ctx)
	if early := p.early[others.Key]; several && early != nil && fits(ask, early) {
		defer r.mu.Unlock()
		delete(p.early, others.Key)
		others.Arrive()
		return early, nil
	}
	id := p.newID()
	if several && p.questions[others.Key] == nil && len(others.Key) <= maxKey {
		id = others.Key
	}
	p.questions[id] = q
	if (r.at != nil || p.tasked) && !several {
		p.wakeUp()
	}
	r.mu.Unlock()
	if several {
		others.Arrive()
		select {
		case <-others.All():
		case <-ctx.Done():
		}
		r.mu.Lock()
		if (r.at != nil || p.tasked) && p.questions[id] == q {
			p.wakeUp()
		}
		r.mu.Unlock()
	}
	select {
	case answer := <-q.answer:
		if answer != nil {
			return answer, nil
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		return nil, p.closed
	case <-ctx.Done():
		r.mu.Lock()
		delete(p.questions, id)
		r.mu.Unlock()
		return nil, context.Cause(ctx)
	}
}

// park answers the request with the questions of the call; nil: there are none any more.
func (r *running) park() (mcp.Result, error) {
	s := r.client.server
	s.mu.Lock()
	defer s.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.parking
	if len(p.questions) == 0 {
		return nil, nil //nolint:nilnil // the call goes on
	}
	own := 0
	for _, other := range s.parked {
		if other.client == r.client && other != r {
			own++
		}
	}
	if own >= s.opts.MaxQuestions {
		r.closeQuestions(refused("%d calls wait for an answer of the client, and that is the limit", own))
		return nil, nil //nolint:nilnil // the call goes on without
	}
	asks := mcp.InputRequestMap{}
	for id, q := range p.questions {
		asks[id] = q.ask
	}
	p.nonce = random(nonceSize)
	expires := time.Now().Add(s.opts.QuestionTimeout)
	state := s.state(r, p.key, expires)
	p.expire = time.AfterFunc(time.Until(expires), func() { s.expire(r) })
	s.parked[p.id] = r
	r.at = nil
	return &questionResult{ResultType: mcpwire.ResultQuestion, InputRequests: asks, RequestState: state}, nil
}

// closeQuestions answers the questions of a call, of now and later, with an error. The lock of
// the call is held.
func (r *running) closeQuestions(why error) {
	r.parking.closed = why
	for id, q := range r.parking.questions {
		delete(r.parking.questions, id)
		q.answer <- nil
	}
}

// expire ends the wait of a parked call. The call is not approved; a tool that asked for
// something else goes on without, within its time.
func (s *Server) expire(r *running) {
	s.forget(r)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at == nil {
		r.parking.nonce = nil
		r.closeQuestions(errUnanswered)
	}
}

// forget makes the states of a call worthless.
func (s *Server) forget(r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.parked, r.parking.id)
}

// forgetAll makes the states of a client's calls worthless.
func (s *Server) forgetAll(c *clientSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.parked, func(_ string, r *running) bool { return r.client == c })
}
