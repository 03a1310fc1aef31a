package control

import (
	"context"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// MaxArguments bounds the arguments of a call, in bytes.
const MaxArguments = 16 << 20

// Call is a call that a command asks for.
type Call struct {
	Name string
	// Session is the name of a session of the daemon, which is begun if the caller has none of
	// that name; empty: the call has a session of its own.
	Session string
	// On is the host of the daemon's fleet that is to run it; empty: any.
	On string
	// Arguments are checked by the host; they need not be JSON.
	Arguments []byte
	// Grants are capabilities for this call, which the daemon may refuse.
	Grants []tool.Capability
	// Timeout bounds the call; 0: the tool's own limit applies.
	Timeout time.Duration
	// Yes approves a dangerous call in advance, which the daemon may refuse.
	Yes bool
	// IdempotencyKey is that of the call; empty: it has none.
	IdempotencyKey string
	// Detach has a durable call answered once it is in the queue.
	Detach bool
	// Told is called with the ID of a durable call once it is in the queue; nil: it is not.
	Told func(id string)
}

// Answer is the outcome of a call.
type Answer struct {
	Outcome host.Outcome
	Result  tool.Result
	Err     error
	// Begun reports whether the call began the session that it names.
	Begun bool
	// Detached is the ID of the durable call, which goes on and is not waited for; empty: the call has ended.
	Detached string
}

// Failed returns the answer with another error, also in its outcome.
func (a Answer) Failed(err error) Answer {
	a.Outcome, a.Result, a.Err = a.Outcome.Ended(tool.Result{}, err), tool.Result{}, err
	return a
}

// succeeded returns the answer with a result, also in its outcome.
func (a Answer) succeeded(res tool.Result) Answer {
	a.Outcome, a.Result, a.Err = a.Outcome.Ended(res, nil), res, nil
	return a
}

// size returns roughly how many bytes the answer holds.
func (a Answer) size() int {
	n := len(a.Result.Structured)
	for _, c := range a.Result.Content {
		for _, f := range blockOf(c).fields {
			n += len(f.text) + len(f.data)
		}
	}
	if a.Err != nil {
		n += len(a.Outcome.Content)
	}
	return n
}

// The events of a call.
const (
	eventBegin    = "begin"
	eventApproval = "approval"
	eventQuestion = "question"
	eventDelta    = "delta"
	eventDurable  = "durable"
	eventPart     = "part"
	eventEnd      = "end"
)

// event is one line of the answer to a call. Readers ignore events they do not know.
type event struct {
	Event    string    `json:"event"`
	ID       string    `json:"id,omitempty"`       // begin: the ID of the call; durable: that of the durable call
	Approval *question `json:"approval,omitempty"` // approval: the question

	Question *toolQuestion `json:"question,omitempty"` // question: that of a tool

	Delta *tool.Delta `json:"delta,omitempty"` // delta: text that the tool streams

	// part: a piece of the result. Block begins a block of that type. The piece continues
	// the field; Data replaces Text for bytes, and for text that would be much longer as JSON.
	Block string `json:"block,omitempty"`
	Field string `json:"field,omitempty"`
	Text  string `json:"text,omitempty"`
	Data  []byte `json:"data,omitempty"`

	End *ending `json:"end,omitempty"` // end
}

// question is a request for approval as it is sent.
type question struct {
	policy.Request
	// Preview reports whether there may be a preview.
	Preview bool `json:"preview,omitempty"`
	// Within is how long the question waits for an answer; 0: as long as the call.
	Within tool.Duration `json:"within,omitempty"`
}

func questionOf(ctx context.Context, r policy.Request) *question {
	q := &question{Request: r, Preview: r.Preview != nil}
	if end, ok := ctx.Deadline(); ok {
		q.Within = tool.Duration(max(time.Until(end), time.Millisecond))
	}
	return q
}

// ending is the rest of an answer after the parts of its result. Everything else in the
// outcome follows from the result or the error.
type ending struct {
	ID       string        `json:"id"`
	Name     string        `json:"name"`
	Success  bool          `json:"success"`
	IsError  bool          `json:"is_error,omitempty"`
	Metadata host.Metadata `json:"metadata"`
	Error    *tool.Error   `json:"error,omitempty"`
	Begun    bool          `json:"session_begun,omitempty"`
	Detached string        `json:"detached,omitempty"`
}

func endingOf(a Answer) event {
	return event{Event: eventEnd, End: &ending{
		ID: a.Outcome.ID, Name: a.Outcome.Name, Success: a.Outcome.Success, IsError: a.Result.IsError,
		Metadata: a.Outcome.Metadata, Error: sentError(a.Err), Begun: a.Begun, Detached: a.Detached,
	}}
}

// answer joins the parts of a result and the end of its call.
func (e ending) answer(p parts) Answer {
	a := Answer{Begun: e.Begun, Detached: e.Detached, Outcome: host.Outcome{ID: e.ID, Name: e.Name, Metadata: e.Metadata}}
	if e.Error != nil {
		return a.Failed(e.Error)
	}
	res := p.result()
	res.IsError = e.IsError
	return a.succeeded(res)
}
