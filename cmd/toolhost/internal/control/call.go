package control

import (
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

// Failed is the answer with another error, which its outcome tells too.
func (a Answer) Failed(err error) Answer {
	a.Result, a.Err = tool.Result{}, err
	a.Outcome.Success, a.Outcome.Structured = false, nil
	a.Outcome.Content = err.Error()
	a.Outcome.Error = &host.OutcomeError{Code: tool.CodeOf(err), Message: a.Outcome.Content}
	return a
}

// answered is the answer with a result, which its outcome tells too, as
// [host.Session.CallDetailed] does.
func (a Answer) answered(res tool.Result) Answer {
	a.Result, a.Err = res, nil
	a.Outcome.Success, a.Outcome.Error = !res.IsError, nil
	a.Outcome.Content, a.Outcome.Structured = res.Text(), res.Structured
	if res.IsError {
		a.Outcome.Error = &host.OutcomeError{Code: tool.CodeToolFailed, Message: a.Outcome.Content}
	}
	return a
}

// size is how many bytes the answer holds, roughly.
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
	eventPart     = "part"
	eventEnd      = "end"
)

// event is one line of the answer to a call. Readers pass over events that they do not
// know.
type event struct {
	Event    string    `json:"event"`
	ID       string    `json:"id,omitempty"`       // begin: the call's address
	Approval *approval `json:"approval,omitempty"` // approval: what is to be decided

	// part: a piece of the result. Block begins a block of that type. The piece is added
	// to what came of the field before; Data takes the place of Text for bytes, and for
	// text that would be much longer as JSON.
	Block string `json:"block,omitempty"`
	Field string `json:"field,omitempty"`
	Text  string `json:"text,omitempty"`
	Data  []byte `json:"data,omitempty"`

	End *ending `json:"end,omitempty"` // end
}

// ending is what is left to say of a call when the parts of its result have been told.
// What its outcome says beyond that follows from the result or the error.
type ending struct {
	ID       string        `json:"id"`
	Name     string        `json:"name"`
	Success  bool          `json:"success"`
	IsError  bool          `json:"is_error,omitempty"`
	Metadata host.Metadata `json:"metadata"`
	Error    *Problem      `json:"error,omitempty"`
}

func endingOf(a Answer) event {
	return event{Event: eventEnd, End: &ending{
		ID: a.Outcome.ID, Name: a.Outcome.Name, Success: a.Outcome.Success, IsError: a.Result.IsError,
		Metadata: a.Outcome.Metadata, Error: problemOf(a.Err),
	}}
}

// answer puts the parts of a result and the end of its call together.
func (e ending) answer(p parts) Answer {
	a := Answer{Outcome: host.Outcome{ID: e.ID, Name: e.Name, Metadata: e.Metadata}}
	if e.Error != nil {
		return a.Failed(e.Error.Error())
	}
	res := p.result()
	res.IsError = e.IsError
	return a.answered(res)
}
