package control

import (
	"encoding/json"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// MaxArguments bounds the arguments of a call, in bytes.
const MaxArguments = 16 << 20

// Call is what a command wants called.
type Call struct {
	Name string
	// Arguments are for the host to judge; they need not be JSON.
	Arguments []byte
	// Grants are capabilities for this call, which the daemon may refuse.
	Grants []tool.Capability
	// Timeout bounds the call; 0: the tool's own limit does.
	Timeout time.Duration
	// Yes is the caller's yes to a dangerous call, in advance, which the daemon may
	// refuse.
	Yes bool
}

// Answer is what came of a call.
type Answer struct {
	Outcome host.Outcome
	Result  tool.Result
	Err     error
}

// The events of a call.
const (
	eventBegin    = "begin"
	eventApproval = "approval"
	eventEnd      = "end"
)

// event is one line of the answer to a call. Who reads it passes over those that it
// does not know.
type event struct {
	Event    string        `json:"event"`
	ID       string        `json:"id,omitempty"`       // begin: the call's address
	Approval *approval     `json:"approval,omitempty"` // approval: what is to be decided
	Outcome  *host.Outcome `json:"outcome,omitempty"`  // end
	Result   *result       `json:"result,omitempty"`   // end
	Error    *Problem      `json:"error,omitempty"`    // end
}

func endOf(a Answer) event {
	e := event{Event: eventEnd, Outcome: &a.Outcome, Error: problemOf(a.Err)}
	if a.Err == nil {
		e.Result = resultOf(a.Result)
	}
	return e
}

// answer is what an end says.
func (e event) answer() Answer {
	var a Answer
	if e.Outcome != nil {
		a.Outcome = *e.Outcome
	}
	if e.Error != nil {
		a.Err = e.Error.Error()
	}
	a.Result = e.Result.value()
	return a
}

// result is a result as it travels. Its structured part is a text: JSON inside of
// JSON may be written otherwise, and a caller gets to see what the tool wrote.
type result struct {
	Answer     tool.Result `json:"answer"`
	Structured string      `json:"structured,omitempty"`
}

func resultOf(r tool.Result) *result {
	out := &result{Answer: r, Structured: string(r.Structured)}
	out.Answer.Structured = nil
	return out
}

func (r *result) value() tool.Result {
	if r == nil {
		return tool.Result{}
	}
	out := r.Answer
	if r.Structured != "" {
		out.Structured = json.RawMessage(r.Structured)
	}
	return out
}
