package audit

import (
	"encoding/json"
	"time"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The events of a call, and that of all else that is on record.
const (
	Begin = "begin" // the call is about to reach the tool
	End   = "end"   // the call has ended, with whatever outcome
	Admin = "admin" // what may run, be called or come in was changed, asked for or answered
	// Question says that the call has asked its caller: Message is the kind of question, such as
	// elicitation, and Decision is accept, decline, cancel or refused.
	Question = "question"
)

// AcceptBreak is the action of a line that accepts a break, which stands before the line with the number in Object:
// as where a log was restored from a copy.
const AcceptBreak = "audit accept-break"

// The decisions about a call. Empty: none, as the call was refused before.
const (
	Allowed  = "allowed"  // by the grants alone
	Approved = "approved" // by the approver
	Denied   = "denied"
)

// Limits of a record. Texts are made printable and cut to these sizes; a larger input is left
// out, see [redact.MaxInput].
const (
	maxMessage = 500 // bytes
	maxText    = 256 // bytes, each other text
)

// Record is what one line says.
type Record struct {
	// Time is when it happened; zero: when it is written.
	Time time.Time `json:"time"`
	// Event is [Begin], [End], [Question] or [Admin].
	Event string `json:"event"`
	// Action is what an [Admin] line is of, such as "tokens new", and Object what it was done to, such as
	// a plugin or a question. Of a durable call, Object is its ID in the queue. Both are empty for other calls.
	Action string `json:"action,omitempty"`
	Object string `json:"object,omitempty"`
	// UID is the user of the system who did it; nil: it is not known, or it is the line of a call.
	UID *int `json:"uid,omitempty"`
	// Call is the ID of the call.
	Call string `json:"call,omitempty"`
	// Parent is the ID of the call in which this one was made; empty: it was made in none.
	Parent string `json:"parent,omitempty"`
	// Trace is the ID of the trace that the call belongs to, as W3C Trace Context has it; empty: none is known.
	Trace string `json:"trace,omitempty"`
	// Caller is the name of who made the call; empty: the session belongs to no named caller.
	Caller string `json:"caller,omitempty"`
	// Account is who answers for the caller, such as the host of a fleet that it calls from;
	// empty: this host.
	Account string `json:"account,omitempty"`
	// Via is how the call came in, such as "mcp"; empty: by the command or by the embedding
	// program. Client is the program that made it, as it calls itself; empty: not known.
	Via    string `json:"via,omitempty"`
	Client string `json:"client,omitempty"`
	// Session is the ID of the caller's session.
	Session string `json:"session,omitempty"`
	Tool    string `json:"tool"`
	// Plugin serves the tool; empty: a function of the host's process, or no
	// such tool.
	Plugin string `json:"plugin,omitempty"`
	// Definition is the digest of the tool's definition; empty: no such tool.
	Definition string `json:"definition,omitempty"`
	// Arguments is the digest of the arguments, in their redacted form if anything was
	// redacted. For unknown tools, and for arguments that their schema or size refused,
	// values whose names the schema does not have are redacted too; the digest is empty if
	// such arguments are not JSON.
	Arguments string `json:"arguments,omitempty"`
	// Input is the redacted arguments; nil if they are not JSON or larger than [redact.MaxInput].
	Input json.RawMessage `json:"input,omitempty"`
	// AskedArguments and AskedInput are the same for the arguments that the caller sent, if
	// an approver changed them: Arguments and Input are what ran, or what the approver gave in
	// vain.
	AskedArguments string          `json:"asked_arguments,omitempty"`
	AskedInput     json.RawMessage `json:"asked_input,omitempty"`
	// Decision is [Allowed], [Approved], [Denied] or empty; of a [Question], how it was answered.
	Decision string `json:"decision,omitempty"`
	// Approver is who approved or denied the call; empty: no one was asked.
	Approver string `json:"approver,omitempty"`
	// Attempts counts how often the tool was called.
	Attempts int           `json:"attempts"`
	Duration tool.Duration `json:"duration"`
	// Phases say where the time went; nil: this is not the end of a call, or it is not known.
	Phases *policy.Phases `json:"phases,omitempty"`
	// Code is why the call failed; empty: it did not.
	Code tool.Code `json:"code,omitempty"`
	// Message is the error's text.
	Message string `json:"message,omitempty"`
	// Refusals is how many calls of the caller the line is for, which were refused before anything was
	// decided about them, since the line before; the rest of the line is of the last of them. 0: the line
	// is of one call.
	Refusals int `json:"refusals,omitempty"`
}

// Sink takes records. Implementations are safe for concurrent use, and keep nothing of a
// record after Write has returned.
type Sink interface {
	Write(Record) error
}

// Selective is a [Sink] that does not need all of each record.
type Selective interface {
	Sink
	// WantsArguments reports whether records need Arguments and Input, whose
	// digest and redaction cost more than all else in a record. It is asked when
	// a host is made and when a tool is registered, not for each record.
	WantsArguments() bool
}
