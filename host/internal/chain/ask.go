package chain

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/internal/form"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Asking bounds the questions of one tool's calls.
type Asking struct {
	Tool   string
	Plugin string        // empty: none
	Most   int           // questions of one call
	Within time.Duration // the time for one answer; 0: as long as the call
	Total  time.Duration // of a call's attempts, their questions included; 0: not bounded
	Open   *atomic.Int64 // questions of the plugin without an answer
}

// maxOpen is how many questions of one plugin wait for answers at a time.
const maxOpen = 64

// Ask lets a call put questions to its caller, if that can answer them. While a question is
// open, the call holds no slot of [Concurrency], and the time of [Timeout] stands still; it is
// limited by Total.
func Ask(q Asking) Middleware {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			ask := callctx.Get[tool.Asker](ctx, callctx.Ask{})
			if ask == nil {
				return next(ctx, call)
			}
			a := &asking{Context: ctx, limits: q, asker: ask}
			if q.Total > 0 {
				a.latest = time.Now().Add(q.Total)
			}
			a.ask = a.put
			return next(a, call)
		}
	}
}

// asking is a call that may put questions to its caller. It is also the call's context.
type asking struct {
	context.Context

	limits Asking
	asker  tool.Asker // of the caller
	ask    tool.Asker // of the tool: put
	latest time.Time  // when all attempts end; zero: they may take any time
	asked  atomic.Int64
	turn   atomic.Pointer[attempt] // the last that began
}

type askingKey struct{}

// Value implements [context.Context].
func (a *asking) Value(key any) any {
	switch key.(type) {
	case askingKey:
		return a
	case callctx.Ask:
		return a.ask
	}
	return a.Context.Value(key)
}

// askingFrom returns the call that may ask, or nil. It costs nothing for a call that may not.
func askingFrom(ctx context.Context) *asking {
	if limited, ok := ctx.(*deadline.Context); ok {
		ctx = limited.Parent()
	}
	switch c := ctx.(type) {
	case *Trace:
		return nil
	case *asking:
		return c
	}
	a, _ := ctx.Value(askingKey{}).(*asking)
	return a
}

// waited returns how long questions of the last attempt have waited for their answers. Of nil, it is 0.
func (a *asking) waited() (d time.Duration) {
	if a == nil {
		return 0
	}
	if t := a.turn.Load(); t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		if d = t.asked; t.open > 0 {
			d += time.Since(t.since)
		}
	}
	return d
}

// put asks the caller, and puts that on record. It is the [tool.Asker] of a tool.
func (a *asking) put(ctx context.Context, q tool.Question) (tool.Answer, error) {
	answer, err := a.answered(ctx, q)
	TraceFrom(a.Context).Asked("elicitation", string(answer.Action), err)
	return answer, err
}

func (a *asking) answered(ctx context.Context, q tool.Question) (tool.Answer, error) {
	judge, err := a.admit(&q)
	if err != nil {
		return tool.Answer{}, err
	}
	if a.limits.Open.Add(1) > maxOpen {
		a.limits.Open.Add(-1)
		return tool.Answer{}, a.refuse(tool.CodeResourceExhausted, "%d questions of its plugin are open already", maxOpen)
	}
	defer a.limits.Open.Add(-1)
	turn := a.turn.Load()
	turn.suspend() // before ctx gets a limit, which an earlier one of the attempt would hide
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if a.limits.Within > 0 {
		var over context.CancelFunc
		ctx, over = context.WithTimeoutCause(ctx, a.limits.Within, answerError(a.limits.Within))
		defer over()
	}
	defer context.AfterFunc(turn.ctx, cancel)() // a tool may ask with a context that does not end
	answer, err := callAsker(ctx, a.asker, q)
	if ended := turn.goOn(); ended != nil {
		err = ended
	}
	switch {
	case err != nil && turn.ctx.Err() != nil:
		return tool.Answer{}, a.unanswered(turn.ctx)
	case err != nil && ctx.Err() != nil:
		return tool.Answer{}, a.unanswered(ctx)
	case err != nil:
		return tool.Answer{}, err
	}
	return a.check(ctx, judge, answer)
}

// admit checks a question, says in it who asks, and returns what judges its answer.
func (a *asking) admit(q *tool.Question) (*schema.Schema, error) {
	if n := a.asked.Add(1); n > int64(a.limits.Most) {
		return nil, a.refuse(tool.CodeResourceExhausted, "a call may ask %d questions", a.limits.Most)
	}
	attached := q.Tool != "" // the question is from a host that is attached to this one
	if err := form.Check(q.Message, q.Schema); err != nil && !attached {
		return nil, a.refuse(tool.CodeInvalidArguments, "%w", err)
	}
	var judge *schema.Schema
	if len(q.Schema) > 0 {
		var err error
		if judge, err = schema.CompileInput(q.Schema); err != nil {
			return nil, a.refuse(tool.CodeInvalidArguments, "its schema cannot be used: %w", err)
		}
	}
	if !attached && q.Plugin != "" { // a mounted server's connection, which says who asks
		q.Tool = a.limits.Tool
	} else if !attached {
		q.Tool, q.Plugin = a.limits.Tool, a.limits.Plugin
		who := "Tool " + q.Tool
		if q.Plugin != "" {
			who += " of plugin " + q.Plugin
		}
		q.Message = who + " asks: " + sanitize.Text(q.Message)
	}
	return judge, nil
}

// check returns an answer that fits its question.
func (a *asking) check(ctx context.Context, judge *schema.Schema, answer tool.Answer) (tool.Answer, error) {
	switch answer.Action {
	case tool.Accept:
	case tool.Decline:
		return tool.Answer{Action: tool.Decline}, nil
	default:
		return tool.Answer{Action: tool.Cancel}, nil
	}
	if judge == nil {
		return tool.Answer{Action: tool.Accept}, nil
	}
	if len(answer.Content) > form.MaxAnswer {
		return tool.Answer{}, a.refuse(tool.CodeResourceExhausted, "the answer has %d bytes, more than %d", len(answer.Content), form.MaxAnswer)
	}
	if err := judge.Check(ctx, answer.Content); err != nil {
		return tool.Answer{}, a.refuse(tool.CodeInvalidResult, "the answer does not fit the form: %w", err)
	}
	return answer, nil
}

// unanswered returns the error of a question whose context has ended.
func (a *asking) unanswered(ctx context.Context) error {
	return a.refuse(tool.CodeOf(ctx.Err()), "it was not answered: %w", deadline.Cause(ctx)).Because(ctx.Err())
}

// refuse returns the error of a question, which its tool gets.
func (a *asking) refuse(code tool.Code, format string, args ...any) *tool.Error {
	err := tool.Errorf(code, "a question of tool "+a.limits.Tool+": "+format, args...)
	err.Tool, err.Stage = a.limits.Tool, callstage.Execute
	return err
}

// answerError is the cause of a context in which no answer came in time.
type answerError time.Duration

func (e answerError) Error() string { return fmt.Sprintf("no answer came within %v", time.Duration(e)) }

// Is reports that answerError is a [context.DeadlineExceeded].
func (e answerError) Is(target error) bool { return target == context.DeadlineExceeded }

// callAsker calls an asker and turns its panic into an error. It does not wait for one that
// outlives its context.
func callAsker(ctx context.Context, ask tool.Asker, q tool.Question) (tool.Answer, error) {
	type outcome struct {
		answer tool.Answer
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() { done <- o }()
		defer func() {
			if v := recover(); v != nil {
				o = outcome{err: Recovered("the asker", v)}
			}
		}()
		o.err = errors.New("the asker called runtime.Goexit")
		o.answer, o.err = ask(ctx, q)
	}()
	select {
	case o := <-done:
		return o.answer, o.err
	case <-ctx.Done():
		return tool.Answer{}, ctx.Err()
	}
}

// attempt is one attempt of a call that may ask: its time limit, and its slot.
type attempt struct {
	ctx   context.Context
	limit *deadline.Pausable // nil: no time limit

	mu      sync.Mutex
	slot    *slotCaller   // whose it is; nil: there is none to give back
	held    bool          // a slot is held
	takes   bool          // a slot is being taken again
	open    int           // questions
	since   time.Time     // that one is open
	asked   time.Duration // in all, while one was open
	resumes func()
}

// begin returns the context of an attempt with a time limit; 0: none. The caller calls end.
func (a *asking) begin(ctx context.Context, limit time.Duration, cause error) (_ context.Context, end func()) {
	var at time.Time
	if limit > 0 {
		at = time.Now().Add(limit)
	}
	latest, late := a.latest, error(totalError(a.limits.Total))
	if !latest.IsZero() && latest.Before(at) {
		latest, late = at, cause
	}
	p := deadline.NewPausable(ctx, at, cause, latest, late)
	a.turn.Store(&attempt{ctx: p, limit: p})
	return p, func() { p.Cancel(nil) }
}

// hold records the slot that the attempt has. The caller calls letGo.
func (t *attempt) hold(c *slotCaller) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.slot, t.held = c, true
}

// letGo gives the slot back for good, if it is held.
func (t *attempt) letGo() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.release()
	t.slot = nil
}

func (t *attempt) release() {
	if t.held {
		t.held = false
		t.slot.release()
	}
}

// suspend stops the time and gives the slot back while a question is open.
func (t *attempt) suspend() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open++; t.open == 1 {
		t.since = time.Now()
		TraceFrom(t.ctx).isAt(atAsked)
		t.resumes = t.limit.Pause()
		t.release()
	}
}

// goOn undoes suspend when the last open question has ended: it waits for a slot.
//
// # Errors
//
// The error of the attempt's context, if it ends first.
func (t *attempt) goOn() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open--; t.open > 0 {
		return nil
	}
	t.resumes()
	t.asked += time.Since(t.since)
	TraceFrom(t.ctx).isAt(atRan)
	if t.slot == nil || t.held || t.takes {
		return nil
	}
	t.takes = true
	c := t.slot
	t.mu.Unlock()
	c, err := c.retake(t.ctx)
	t.mu.Lock()
	t.takes = false
	switch {
	case err == nil && (t.slot == nil || t.open > 0): // the attempt has ended, or asks again
		c.release()
	case err == nil:
		t.slot, t.held = c, true
	}
	return err
}
