package approval

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Bounds of a queue. A person answers it.
const (
	maxOpen   = 64 // questions that wait
	MaxCaller = 16 // of them of one caller
	maxEnded  = 256
)

// Queue keeps questions until they are answered. It is safe for concurrent use, and keeps nothing
// in a file: what waits when the daemon ends is denied.
type Queue struct {
	stale func(policy.Request) string

	mu      sync.Mutex
	open    map[string]*waiting
	ended   []Question    // the newest that were closed, oldest first
	changed chan struct{} // closed with the next change
	closed  bool
}

var _ policy.Approver = (*Queue)(nil)

// waiting is a question without an answer, or one that is about to be asked.
type waiting struct {
	Question
	asked   bool // operators see it
	request *policy.Request
	answer  chan policy.Decision // has room for one
}

// NewQueue returns a queue. Stale says why a call cannot run any more as it was asked about, for
// example because its tool is gone; empty: it can. Nil: every call can.
func NewQueue(stale func(policy.Request) string) *Queue {
	if stale == nil {
		stale = func(policy.Request) string { return "" }
	}
	return &Queue{stale: stale, open: map[string]*waiting{}, changed: make(chan struct{})}
}

// Approve implements [policy.Approver]: it waits for the operator's answer.
func (q *Queue) Approve(ctx context.Context, r policy.Request) (policy.Decision, error) {
	w, err := q.reserve(cmp.Or(r.Caller, r.Session))
	if err != nil {
		return policy.Decision{}, err
	}
	defer q.release(w)
	question, fails := Describe(ctx, r)
	if fails {
		return policy.Decision{Verdict: policy.Fail}, nil
	}
	w.request = &r
	return q.wait(ctx, w, question)
}

// Ask is [Queue.Approve] for a question of another process of the operator, which described it.
func (q *Queue) Ask(ctx context.Context, question Question) (policy.Decision, error) {
	w, err := q.reserve(cmp.Or(question.Caller, question.Session))
	if err != nil {
		return policy.Decision{}, err
	}
	defer q.release(w)
	question.bound()
	return q.wait(ctx, w, question)
}

var errEnding = fmt.Errorf("the daemon is ending, and keeps no more questions: %w", policy.ErrCannotAsk)

// reserve takes a place in the queue.
func (q *Queue) reserve(caller string) (*waiting, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	same := 0
	for _, other := range q.open {
		if other.Caller == caller {
			same++
		}
	}
	const hint = "the operator answers them with toolhost approvals"
	switch {
	case q.closed:
		return nil, errEnding
	case same >= MaxCaller || same > 0 && same+1 > maxOpen-len(q.open)-1: // it leaves as much for others as it has
		return nil, tool.Errorf(tool.CodeResourceExhausted, "%d questions of this caller wait for an answer already", same).
			Try(hint)
	case len(q.open) >= maxOpen-1:
		return nil, tool.Errorf(tool.CodeResourceExhausted, "%d questions wait for an answer already", len(q.open)).Try(hint)
	}
	w := &waiting{Question: Question{ID: q.newID(), State: Waiting, Caller: caller}, answer: make(chan policy.Decision, 1)}
	q.open[w.ID] = w
	return w, nil
}

// newID returns a text that people can type, and that is not guessed. The caller holds mu.
func (q *Queue) newID() string {
	for {
		id := strings.ToLower(rand.Text()[:8])
		if q.open[id] == nil && !slices.ContainsFunc(q.ended, func(e Question) bool { return e.ID == id }) {
			return id
		}
	}
}

// release gives a place back; the question was closed, or never asked.
func (q *Queue) release(w *waiting) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.open, w.ID)
}

// wait shows a question to operators, and waits for their answer.
func (q *Queue) wait(ctx context.Context, w *waiting, question Question) (policy.Decision, error) {
	if err := q.show(w, question); err != nil {
		return policy.Decision{}, err
	}
	select {
	case d := <-w.answer:
		return d, nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.State == Waiting {
		state := Withdrawn
		if errors.Is(ctx.Err(), context.DeadlineExceeded) || !w.Until.IsZero() && !time.Now().Before(w.Until) {
			state = Expired
		}
		q.close(w, state, policy.Decision{})
		return policy.Decision{}, context.Cause(ctx)
	}
	return <-w.answer, nil // it came first
}

func (q *Queue) show(w *waiting, question Question) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return errEnding
	}
	question.ID, question.State, question.Since = w.ID, Waiting, time.Now()
	question.Ended, question.By, question.Reason = time.Time{}, "", ""
	question.Caller = cmp.Or(question.Caller, w.Caller)
	w.Question, w.asked = question, true
	q.note()
	return nil
}

// close closes a question that waits, with an answer or without. The caller holds mu.
func (q *Queue) close(w *waiting, state State, d policy.Decision) {
	w.State, w.Ended, w.By, w.Reason = state, time.Now(), d.By, d.Reason
	delete(q.open, w.ID)
	if len(q.ended) == maxEnded {
		q.ended = slices.Delete(q.ended, 0, 1)
	}
	q.ended = append(q.ended, w.short())
	if state == Approved || state == Denied {
		w.answer <- d
	}
	q.note()
}

// note tells those who watch that something has changed. The caller holds mu.
func (q *Queue) note() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// deny denies a question for a reason of the host's own. The caller holds mu.
func (q *Queue) deny(w *waiting, by, reason string) {
	q.close(w, Denied, policy.Decision{Verdict: policy.Deny, By: by, Reason: reason})
}

// Decide answers a question: the first answer counts.
//
// # Errors
//
// [tool.CodeNotFound] if there is no such question; [tool.CodeAlreadyExists] if it has an answer
// already, has expired or was withdrawn, or if it is denied because its tool has changed.
func (q *Queue) Decide(id string, d policy.Decision) (Question, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w, ended, err := q.find(id)
	if err != nil {
		return Question{}, err
	}
	if w == nil {
		return Question{}, ended.over()
	}
	d.Reason = sanitize.Line(d.Reason, 2*maxText)
	if d.Verdict != policy.Allow {
		d.Verdict = policy.Deny
		q.close(w, Denied, d)
		return w.short(), nil
	}
	if why := w.stale(q); why != "" {
		q.deny(w, byChange, why)
		return Question{}, tool.Errorf(tool.CodeAlreadyExists, "the call of %s was denied: %s", w.Tool, why).
			Of(w.Tool, "").Try("the caller may call again")
	}
	q.close(w, Approved, policy.Decision{Verdict: policy.Allow, By: d.By})
	return w.short(), nil
}

// find returns a question that waits, or else one that was closed. The caller holds mu.
func (q *Queue) find(id string) (w *waiting, ended *Question, err error) {
	if w := q.open[id]; w != nil && w.asked {
		return w, nil, nil
	}
	if i := slices.IndexFunc(q.ended, func(e Question) bool { return e.ID == id }); i >= 0 {
		return nil, &q.ended[i], nil
	}
	return nil, nil, tool.Errorf(tool.CodeNotFound, "no question has the ID %s", sanitize.Quote(id, 32)).
		Try("toolhost approvals lists the questions that wait")
}

// On record for answers that no person gave.
const (
	byChange = "change of the tool"
	ByEnd    = "end of the daemon"
)

// EndReason is what a caller is told whose question waits when the daemon ends.
const EndReason = "the daemon ended before the operator answered"

// stale says why the call cannot run any more as it was asked about.
func (w *waiting) stale(q *Queue) string {
	if w.request == nil {
		return "" // its own host looks
	}
	return q.stale(*w.request)
}

// Revise denies the questions about calls that cannot run any more as they were asked about.
func (q *Queue) Revise() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range q.open {
		if !w.asked {
			continue
		}
		if why := w.stale(q); why != "" {
			q.deny(w, byChange, why)
		}
	}
}

// Close denies all questions, and those that come later.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, w := range q.open {
		if w.asked {
			q.deny(w, ByEnd, EndReason)
		}
	}
}

// Len counts the questions that wait.
func (q *Queue) Len() int {
	open, _ := q.Open()
	return len(open)
}

// Open returns the questions that wait, the oldest first and without previews, and a channel that
// is closed when they change.
func (q *Queue) Open() ([]Question, <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := []Question{}
	for _, w := range q.open {
		if w.asked {
			out = append(out, w.short())
		}
	}
	slices.SortFunc(out, func(a, b Question) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.ID, b.ID))
	})
	return out, q.changed
}

// Get returns a question, with its preview while it waits.
//
// # Errors
//
// [tool.CodeNotFound] if there is none with that ID among those that wait and the last 256 others.
func (q *Queue) Get(id string) (Question, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w, ended, err := q.find(id)
	switch {
	case err != nil:
		return Question{}, err
	case w != nil:
		return w.Question, nil
	}
	return *ended, nil
}
