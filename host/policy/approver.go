package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Approver decides on dangerous calls, or asks a person to.
type Approver interface {
	// Approve decides on a call. It must return soon after its context ends. An
	// error or a panic denies the call.
	Approve(context.Context, Request) (Decision, error)
}

// ApproverFunc makes a function an [Approver].
type ApproverFunc func(context.Context, Request) (Decision, error)

// Approve calls f. If f is nil, it returns an error, which denies the call.
func (f ApproverFunc) Approve(ctx context.Context, r Request) (Decision, error) {
	if f == nil {
		return Decision{}, errors.New("the approver is a nil function")
	}
	return f(ctx, r)
}

// Request describes the call that an approver decides on.
type Request struct {
	Call       tool.Call       `json:"call"`
	Definition tool.Definition `json:"definition"`
	// Plugin is the plugin that serves the tool; empty: a function of this
	// process.
	Plugin string `json:"plugin,omitempty"`
	// Caller is the caller's name; empty: it has none.
	Caller string `json:"caller,omitempty"`
	// Account is who answers for the caller, such as the host of a fleet that it calls from;
	// empty: this host.
	Account string `json:"account,omitempty"`
	// Via is how the call came in, such as "mcp", and Client the program that made it, as it
	// calls itself; empty: not known.
	Via    string `json:"via,omitempty"`
	Client string `json:"client,omitempty"`
	// Session is the session's ID.
	Session string `json:"session"`
	// Preview asks the tool what the call would do, for example as a unified
	// diff. It is nil if the tool has no preview or the operator has disabled
	// previews. A result with IsError says why the call would fail; see [Fail]. An error
	// with the code of [tool.ErrNotFound] means that the tool has no preview
	// after all; any other, that the preview failed.
	//
	// The result is the plugin's own claim, which may be wrong or misleading.
	// Use it in addition to the arguments, not instead of them.
	Preview func(context.Context) (tool.Result, error) `json:"-"`
}

// Verdict is an approver's answer. The zero value denies the call.
type Verdict int8

const (
	// Deny refuses the call.
	Deny Verdict = iota
	// Allow runs the call unchanged.
	Allow
	// Modify runs the call with other arguments, which are validated again.
	Modify
	// Fail ends the call with the failure that its preview has returned, so that
	// a person is not asked about a call that cannot succeed. It denies the call if the
	// preview was not asked for, or has returned no failure.
	Fail
)

var verdicts = [...]string{Deny: "deny", Allow: "allow", Modify: "modify", Fail: "fail"}

// MarshalText implements [encoding.TextMarshaler]. It returns deny, allow,
// modify or fail, and deny for any other value.
func (v Verdict) MarshalText() ([]byte, error) {
	if v < 0 || int(v) >= len(verdicts) {
		v = Deny
	}
	return []byte(verdicts[v]), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
//
// # Errors
//
// An error that lists the verdicts, for any other text.
func (v *Verdict) UnmarshalText(text []byte) error {
	i := slices.Index(verdicts[:], string(text))
	if i < 0 {
		return fmt.Errorf("unknown verdict %.20q: use allow, deny, modify or fail", text)
	}
	*v = Verdict(i)
	return nil
}

// Decision is an approver's answer in full.
type Decision struct {
	Verdict Verdict `json:"verdict"`
	// Reason is shown to the model if the verdict is [Deny].
	Reason string `json:"reason,omitempty"`
	// Arguments replace those of the call if the verdict is [Modify].
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// By names who decided, for the audit record. Default: "approver".
	By string `json:"-"`
}
