package task

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// MemoryOptions bound a [Memory]. What is 0 or less has its default.
type MemoryOptions struct {
	// TTL is how long a task is kept from its start. A call that is in progress by then is
	// cancelled. The result of one that ended is kept for another 5 minutes at least, or for as
	// long again as TTL if that is less. Default: 1 hour.
	TTL time.Duration
	// Poll is how often callers are told to ask for a task. Default: 1 second.
	Poll time.Duration
	// Max bounds the tasks that are kept, those that have ended included. Default: 1000.
	Max int
	// MaxOwner bounds those of one caller. Default: 100.
	MaxOwner int
	// MaxBytes bounds the results that are kept, about; one caller may have half of it. No task
	// is begun while there is no room. Default: 64 MiB.
	MaxBytes int
}

const (
	grace        = 5 * time.Minute
	maxQuestions = 16  // of a task, that wait
	maxMessage   = 512 // bytes of what a tool reports
)

// Memory is a [Store] whose calls run in this process and end with it.
type Memory struct {
	opts MemoryOptions
	runs sync.WaitGroup

	mu     sync.Mutex
	closed bool
	tasks  map[string]*entry
	owned  map[string]int // tasks, by owner
	bytes  map[string]int // of results, by owner
	total  int            // bytes
}

var _ Store = (*Memory)(nil)

// entry is a task that is kept. All of it is guarded by the mutex of the store.
type entry struct {
	Task
	owner   string
	size    int
	asked   int // numbers questions
	answers map[string]chan json.RawMessage
	ctx     context.Context // of the call
	cancel  context.CancelCauseFunc
	expire  *time.Timer
}

// NewMemory returns a store without tasks. Close it before the host.
func NewMemory(o MemoryOptions) *Memory {
	o.TTL = cmp.Or(max(o.TTL, 0), time.Hour)
	o.Poll = cmp.Or(max(o.Poll, 0), time.Second)
	o.Max = cmp.Or(max(o.Max, 0), 1000)
	o.MaxOwner = cmp.Or(max(o.MaxOwner, 0), 100)
	o.MaxBytes = cmp.Or(max(o.MaxBytes, 0), 64<<20)
	return &Memory{opts: o, tasks: map[string]*entry{}, owned: map[string]int{}, bytes: map[string]int{}}
}

var (
	// ErrCancelled is the cause of the end of a call's context whose task was cancelled.
	ErrCancelled = errors.New("the task was cancelled")

	errExpired = errors.New("the time of the task is over")
	errClosed  = errors.New("the tasks of this host end with it")
)

// Start implements [Store].
func (m *Memory) Start(ctx context.Context, c Call) (Task, error) {
	e := &entry{owner: ownerOf(c.Session), answers: map[string]chan json.RawMessage{}}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.room(e.owner, c.ID); err != nil {
		return Task{}, err
	}
	now := time.Now()
	e.Task = Task{
		ID: cmp.Or(c.ID, rand.Text()), Tool: c.Tool, State: Working, Created: now, Updated: now, TTL: m.opts.TTL, Poll: m.opts.Poll,
		Questions: map[string]json.RawMessage{},
	}
	e.ctx, e.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	e.expire = time.AfterFunc(e.TTL, func() { m.drop(e) })
	m.tasks[e.ID] = e
	m.owned[e.owner]++
	ctx = tool.WithProgress(e.ctx, func(p tool.Progress) { m.report(e, p) })
	ask := func(ctx context.Context, q json.RawMessage) (json.RawMessage, error) { return m.ask(ctx, e, q) }
	m.runs.Go(func() { m.end(e, run(ctx, c, ask)) })
	return e.now(), nil
}

// room refuses a task if there is no room for it. The lock is held.
func (m *Memory) room(owner, id string) error {
	var what string
	switch {
	case m.closed:
		return tool.Errorf(tool.CodeUnavailable, "no task can be started: %w", errClosed)
	case m.tasks[id] != nil:
		return tool.Errorf(tool.CodeAlreadyExists, "there is a task with the ID %.40s", id)
	case len(m.tasks) >= m.opts.Max:
		what = fmt.Sprintf("%d tasks are kept", len(m.tasks))
	case m.owned[owner] >= m.opts.MaxOwner:
		what = fmt.Sprintf("%d tasks of the caller are kept", m.owned[owner])
	case m.total >= m.opts.MaxBytes:
		what = "the results that are kept fill the room for them"
	case m.bytes[owner] >= (m.opts.MaxBytes+1)/2:
		what = "the results of the caller's tasks fill the room for them"
	default:
		return nil
	}
	return tool.Errorf(tool.CodeResourceExhausted, "%s, and that is the limit", what).NeverSent().Try("try again later")
}

// run does a call. A panic is its end, and not that of the process.
func run(ctx context.Context, c Call, ask Asker) (end End) {
	defer func() {
		if v := recover(); v != nil {
			end = End{Err: tool.Errorf(tool.CodeInternal, "the call failed inside of the host").
				Of(c.Tool, "").Because(fmt.Errorf("panic: %v", v))}
		}
		if end.Err != nil && end.Outcome.Error == nil {
			end.Outcome = host.Outcome{ID: end.Outcome.ID, Name: c.Tool, Metadata: end.Outcome.Metadata}.Ended(tool.Result{}, end.Err)
		}
	}()
	if c.Run != nil {
		return c.Run(ctx, ask)
	}
	end.Outcome, end.Result, end.Err = c.Session.CallWith(ctx, tool.Call{Name: c.Tool, Arguments: c.Arguments}, host.CallOptions{})
	return end
}

// end keeps how a call ended, unless its task is over.
func (m *Memory) end(e *entry, end End) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.cancel(context.Canceled)
	if e.State.Over() || m.tasks[e.ID] != e {
		return
	}
	m.settle(e, Ended)
	e.End, e.size = &end, wire.ResultSize(end.Result)
	m.bytes[e.owner] += e.size
	m.total += e.size
	if least := time.Since(e.Created) + min(grace, m.opts.TTL); least > e.TTL {
		e.TTL = least
		e.expire.Reset(time.Until(e.Created.Add(least)))
	}
}

// settle puts a task into a state for good. The lock is held.
func (m *Memory) settle(e *entry, s State) {
	e.State, e.Updated = s, time.Now()
	clear(e.Questions)
	clear(e.answers)
}

// drop forgets a task whose time is over.
func (m *Memory) drop(e *entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tasks[e.ID] != e || time.Since(e.Created) < e.TTL { // its time has grown
		return
	}
	e.cancel(errExpired)
	delete(m.tasks, e.ID)
	m.total -= e.size
	less(m.bytes, e.owner, e.size)
	less(m.owned, e.owner, 1)
}

// less takes away from a count, which goes when it is 0.
func less(counts map[string]int, key string, n int) {
	if counts[key] -= n; counts[key] <= 0 {
		delete(counts, key)
	}
}

// find returns a task of a caller. The lock is held.
func (m *Memory) find(s *host.Session, id string) (*entry, error) {
	e := m.tasks[id]
	if e == nil || e.owner != ownerOf(s) {
		return nil, tool.Errorf(tool.CodeNotFound,
			"the caller has no such task: its time may be over, or the host was restarted").Try("make the call again")
	}
	return e, nil
}

// now returns a copy. The lock is held.
func (e *entry) now() Task {
	t := e.Task
	t.Questions = maps.Clone(t.Questions)
	return t
}

// Get implements [Store].
func (m *Memory) Get(_ context.Context, s *host.Session, id string) (Task, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, err := m.find(s, id)
	if err != nil {
		return Task{}, err
	}
	return e.now(), nil
}

// Cancel implements [Store].
func (m *Memory) Cancel(_ context.Context, s *host.Session, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, err := m.find(s, id)
	if err != nil || e.State.Over() {
		return err
	}
	m.settle(e, Cancelled)
	e.cancel(ErrCancelled)
	return nil
}

// Answer implements [Store].
func (m *Memory) Answer(_ context.Context, s *host.Session, id string, answers map[string]json.RawMessage) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, err := m.find(s, id)
	if err != nil {
		return err
	}
	for key, answer := range answers {
		if q := e.answers[key]; q != nil {
			q <- answer
			e.withdraw(key)
		}
	}
	return nil
}

// withdraw takes back a question. The lock is held.
func (e *entry) withdraw(key string) {
	if e.answers[key] == nil {
		return
	}
	delete(e.answers, key)
	delete(e.Questions, key)
	e.Updated = time.Now()
	if len(e.answers) == 0 {
		e.State = Working
	}
}

// ask is the [Asker] of a task.
func (m *Memory) ask(ctx context.Context, e *entry, question json.RawMessage) (json.RawMessage, error) {
	answer := make(chan json.RawMessage, 1)
	m.mu.Lock()
	switch {
	case e.State.Over() || m.tasks[e.ID] != e:
		m.mu.Unlock()
		return nil, ErrCancelled
	case len(e.answers) >= maxQuestions:
		m.mu.Unlock()
		return nil, tool.Errorf(tool.CodeResourceExhausted, "%d questions of the task wait for answers", maxQuestions)
	}
	e.asked++
	key := "q" + strconv.Itoa(e.asked)
	e.answers[key], e.Questions[key] = answer, question
	e.State, e.Updated = Asking, time.Now()
	m.mu.Unlock()
	select {
	case a := <-answer:
		return a, nil
	case <-e.ctx.Done():
		ctx = e.ctx
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e.withdraw(key)
	return nil, context.Cause(ctx)
}

// report keeps what the tool reported last.
func (m *Memory) report(e *entry, p tool.Progress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.Message != "" && !e.State.Over() {
		e.Message, e.Updated = sanitize.Line(p.Message, maxMessage), time.Now()
	}
}

// Close cancels the calls that are in progress, waits for them until ctx ends, and forgets all
// tasks.
//
// # Errors
//
// That of ctx.
func (m *Memory) Close(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	for _, e := range m.tasks {
		e.expire.Stop()
		e.cancel(errClosed)
	}
	clear(m.tasks)
	clear(m.owned)
	clear(m.bytes)
	m.total = 0
	m.mu.Unlock()
	done := make(chan struct{})
	go func() { m.runs.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
