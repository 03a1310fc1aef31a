package audit

import (
	"encoding/json"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What a record is about.
const (
	Begin = "begin" // the call is about to reach the tool
	End   = "end"   // the call is over, whatever became of it
)

// What was decided about a call. Empty: nothing, as it never came so far.
const (
	Allowed  = "allowed"  // by the grants alone
	Approved = "approved" // by somebody who was asked
	Denied   = "denied"
)

// Limits of a record. Texts are made printable and cut to them; an input that
// is larger is left out.
const (
	MaxInput   = 4 << 10 // bytes, after redaction
	MaxMessage = 500     // bytes
	MaxText    = 256     // bytes, each other text
)

// Record is what one line tells.
type Record struct {
	// Time is when it happened; zero: when it is written.
	Time time.Time `json:"time"`
	// Event is [Begin] or [End].
	Event string `json:"event"`
	// Call and Session are the IDs of the call and of its caller.
	Call    string `json:"call,omitempty"`
	Session string `json:"caller,omitempty"`
	Tool    string `json:"tool"`
	// Plugin serves the tool; empty: a function of the host's process, or no
	// such tool.
	Plugin string `json:"plugin,omitempty"`
	// Definition is the digest of the tool's definition; empty: no such tool.
	Definition string `json:"definition,omitempty"`
	// Arguments is the digest of the arguments, of their redacted form where
	// anything was redacted. Of arguments that their schema or size refused, and of
	// those of unknown tools, values whose names the schema does not have are redacted
	// too; empty, if such arguments are not JSON.
	Arguments string `json:"arguments,omitempty"`
	// Input is the arguments, redacted; nil where they are no JSON or larger
	// than [MaxInput].
	Input json.RawMessage `json:"input,omitempty"`
	// AskedArguments and AskedInput are the same of what the caller asked for, where
	// an approver has changed it: Arguments and Input are what ran.
	AskedArguments string          `json:"asked_arguments,omitempty"`
	AskedInput     json.RawMessage `json:"asked_input,omitempty"`
	// Decision is [Allowed], [Approved], [Denied] or empty.
	Decision string `json:"decision,omitempty"`
	// Approver is who said yes or no; empty: nobody was asked.
	Approver string `json:"approver,omitempty"`
	// Attempts counts how often the tool was asked.
	Attempts int           `json:"attempts"`
	Duration tool.Duration `json:"duration"`
	// Code is why the call failed; empty: it did not.
	Code tool.Code `json:"code,omitempty"`
	// Message is the error's text.
	Message string `json:"message,omitempty"`
}

// Sink takes records. Implementations are safe for concurrent use, and keep
// nothing of a record after Write has returned.
type Sink interface {
	Write(Record) error
}

// Selective is a [Sink] that does not want all of each record.
type Selective interface {
	Sink
	// WantsArguments reports whether records need Arguments and Input, whose
	// digest and redaction cost more than all else in a record. It is asked when
	// a host is made and when a tool is registered, not for each record.
	WantsArguments() bool
}

// Discard is the sink that keeps nothing.
var Discard Sink = discard{}

type discard struct{}

func (discard) WantsArguments() bool { return false }

func (discard) Write(Record) error { return nil }
