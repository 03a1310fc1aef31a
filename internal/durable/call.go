package durable

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/durable/mode"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Mode says how often a call may run.
type Mode = mode.Mode

// The modes.
const (
	// AtLeastOnce runs a call again if its worker dies. It is for tools that are idempotent, or look
	// at the idempotency key.
	AtLeastOnce Mode = "at-least-once"
	// AtMostOnce never runs a call a second time: if its worker dies, the call fails with
	// [ErrOutcomeUnknown].
	AtMostOnce Mode = "at-most-once"
)

// State is where a call is. [StateDone] and what follows it are ends, after which nothing changes.
type State string

// The states.
const (
	StateWaiting  State = "waiting"  // it is not in the queue: its caller's host waits for a yes
	StateQueued   State = "queued"   // no worker has begun
	StateRunning  State = "running"  // a worker runs it
	StateDone     State = "done"     // it has a result, with IsError too
	StateFailed   State = "failed"   // it has an error
	StateCanceled State = "canceled" // the caller has canceled it
	StateExpired  State = "expired"  // no worker began in time
)

// Ended reports whether the state is an end.
func (s State) Ended() bool {
	switch s {
	case StateDone, StateFailed, StateCanceled, StateExpired:
		return true
	default:
		return false
	}
}

// ErrOutcomeUnknown is what [Call.Error] wraps if the worker died while it ran the call: it may
// have done its work, or a part of it.
var ErrOutcomeUnknown = errors.New("the outcome of the call is unknown")

// Request is a call to submit.
type Request struct {
	// Tool is its name. Required.
	Tool string
	// Arguments are a JSON object. Default: {}.
	Arguments json.RawMessage
	// Own says that it is a tool of this host, which no other one may run. Default: false, of [Config.Find].
	Own bool
	// Caller is the name of who calls, at most 256 bytes. Default: empty, no name.
	Caller string
	// ID is that of the call, 26 letters and digits that cannot be guessed, as crypto/rand.Text returns.
	// With an IdempotencyKey it does not count: the ID follows from that. Default: empty, a new one.
	ID string
	// IdempotencyKey names the call: a second one of the same caller and tool with the key is the
	// first one. At most 256 bytes. Default: empty, the call's ID.
	IdempotencyKey string
	// Mode is how often the call may run. Default: [AtLeastOnce] if the tool can, else [AtMostOnce].
	Mode Mode
	// TTL is how long the call may wait for a worker, at most [Config.Keep]. No attempt begins later.
	// Default: 0, 24 h or Config.Keep.
	TTL time.Duration
}

// Call is a durable call.
type Call struct {
	ID             string `json:"id"`
	Tool           string `json:"tool"` // where it runs
	Digest         string `json:"digest"`
	Own            bool   `json:"-"` // it is a tool of the host that submitted it
	Caller         string `json:"caller,omitempty"`
	IdempotencyKey string `json:"idempotency_key,omitempty"`
	Mode           Mode   `json:"mode"`
	State          State  `json:"state"`
	// TTL is that of its request.
	TTL tool.Duration `json:"ttl"`
	// Attempts is how often a worker began.
	Attempts int `json:"attempts"`
	// Worker is the name of the host that runs it, or ran it last, by its own word.
	Worker string `json:"worker,omitempty"`
	// Submitted is by the clock of the host that submitted it, Started and Ended by the worker's.
	Submitted time.Time `json:"submitted"`
	Started   time.Time `json:"started,omitzero"`
	Ended     time.Time `json:"ended,omitzero"`
	// Result is that of a call that is done. [Calls.List] leaves it out.
	Result *tool.Result `json:"result,omitempty"`
	// Phases are where the time went at the worker, by its own word; nil: it is not known.
	Phases *policy.Phases `json:"-"`
	// Host is the name of the host that submitted it. Arguments are those of a call that waits for a yes.
	Host      string          `json:"-"`
	Arguments json.RawMessage `json:"-"`
	// Error is why a call has no result; nil: it has one, or has not ended.
	Error *tool.Error `json:"error,omitempty"`
}

// Outcome returns the result or the error of a call that has ended.
func (c *Call) Outcome() (tool.Result, error) {
	switch {
	case c.Error != nil:
		return tool.Result{}, c.Error
	case c.Result != nil:
		return *c.Result, nil
	}
	return tool.Result{}, tool.Errorf(tool.CodeUnavailable, "call %s has no result yet", c.ID)
}
