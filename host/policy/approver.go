package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Approver says yes or no to dangerous calls, or asks somebody who does.
type Approver interface {
	// Approve decides. It returns soon after its context ends; an error counts
	// as no, and so does a panic.
	Approve(context.Context, Request) (Decision, error)
}

// ApproverFunc is a function as an [Approver].
type ApproverFunc func(context.Context, Request) (Decision, error)

// Approve implements [Approver]. A nil function is an error, which counts as no.
func (f ApproverFunc) Approve(ctx context.Context, r Request) (Decision, error) {
	if f == nil {
		return Decision{}, errors.New("the approver is a nil function")
	}
	return f(ctx, r)
}

// Request is what an approver decides on.
type Request struct {
	Call       tool.Call       `json:"call"`
	Definition tool.Definition `json:"definition"`
	// Plugin serves the tool; empty: a function of this process.
	Plugin string `json:"plugin,omitempty"`
	// Session is the caller's ID.
	Session string `json:"session"`
	// Preview asks the tool what the call would do, such as a unified diff; nil: it
	// has no preview, or the operator has switched it off. A result with IsError says
	// why the call would fail. An error that is [tool.ErrNotFound] by its code says
	// that the tool has no preview after all; another, that it could not be made.
	//
	// What comes back is the plugin's word. It can be wrong, or meant to mislead: it
	// helps to judge a call and takes the place of no argument.
	Preview func(context.Context) (tool.Result, error) `json:"-"`
}

// Verdict is an approver's answer. The zero value is no.
type Verdict int8

const (
	// Deny refuses the call.
	Deny Verdict = iota
	// Allow runs the call as it is.
	Allow
	// Modify runs it with other arguments, which are validated again.
	Modify
)

var verdicts = [...]string{Deny: "deny", Allow: "allow", Modify: "modify"}

// MarshalText implements [encoding.TextMarshaler] with deny, allow and modify. Any other value is
// deny.
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
// One that names the verdicts, for any other text.
func (v *Verdict) UnmarshalText(text []byte) error {
	i := slices.Index(verdicts[:], string(text))
	if i < 0 {
		return fmt.Errorf("unknown verdict %.20q: use allow, deny or modify", text)
	}
	*v = Verdict(i)
	return nil
}

// Decision is an approver's answer with what belongs to it.
type Decision struct {
	Verdict Verdict `json:"verdict"`
	// Reason is shown to the model where the verdict is [Deny].
	Reason string `json:"reason,omitempty"`
	// Arguments replace the call's where the verdict is [Modify].
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// By is who decided, for the record. Default: "approver".
	By string `json:"-"`
}
