package control

import (
	"time"
	"unsafe"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
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

// sent returns the answer as it is sent. What is left of an outcome follows from the result or the error.
func (a Answer) sent() *daemonv1.CallEnd {
	out := &daemonv1.CallEnd{
		Id: a.Outcome.ID, Name: valid(a.Outcome.Name), Metadata: Message[daemonv1.Metadata](&a.Outcome.Metadata),
		SessionBegun: a.Begun, Detached: a.Detached,
	}
	if a.Err == nil {
		out.Outcome = &daemonv1.CallEnd_Result{Result: sentResult(a.Result)}
	} else {
		out.Outcome = &daemonv1.CallEnd_Fault{Fault: Message[daemonv1.Fault](sentError(a.Err))}
	}
	return out
}

func received(e *daemonv1.CallEnd) Answer {
	a := Answer{Begun: e.GetSessionBegun(), Detached: e.GetDetached(), Outcome: host.Outcome{
		ID: e.GetId(), Name: e.GetName(), Metadata: Struct[host.Metadata](e.GetMetadata()),
	}}
	if f := e.GetFault(); f != nil {
		err := Struct[tool.Error](f)
		return a.Failed(&err)
	}
	a.Result = receivedResult(e.GetResult())
	a.Outcome = a.Outcome.Ended(a.Result, nil)
	return a
}

// parseCall reads a request.
func parseCall(r *daemonv1.CallRequest) (Call, error) {
	c := Call{
		Name: r.GetName(), Arguments: bytesOf(r.GetArguments()), Session: r.GetSession(), On: r.GetOn(), Yes: r.GetYes(),
		IdempotencyKey: r.GetIdempotencyKey(), Detach: r.GetDetach(), Timeout: time.Duration(r.GetTimeoutMs()) * time.Millisecond,
	}
	if c.Session != "" {
		if err := CheckSession(c.Session); err != nil {
			return c, err
		}
	}
	for _, word := range r.GetGrants() {
		grant := tool.Capability(word)
		if !grant.Valid() {
			return c, tool.Errorf(tool.CodeInvalidArguments, "%.40q is not a valid capability", word)
		}
		c.Grants = append(c.Grants, grant)
	}
	if c.Timeout < 0 {
		return c, tool.Errorf(tool.CodeInvalidArguments, "%v is not a time limit", c.Timeout)
	}
	return c, nil
}

// bytesOf returns a text, of many megabytes perhaps, without a copy. It must not be changed.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
