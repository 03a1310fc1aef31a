package host

import (
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// WithAdmission bounds how many calls are in the host at a time, whatever they wait for. A caller may
// have as many as it leaves free: half if it is alone, and always some for one who comes later. Calls
// that are refused are on record in one line a second and caller, see [audit.Record.Refusals].
// Default: 0, no bound.
func WithAdmission(calls int) Option { return func(o *options) { o.most = calls } }

// Refused is a caller that is refused calls.
type Refused = chain.Refused

// Refuse puts on record that a caller's call or request was turned away before it came to a session, as
// a call that [WithAdmission] refuses is. Name is the tool's, if it is known.
func (h *Host) Refuse(c Caller, name string, err error) {
	h.refusals.Note(c.Name, audit.Record{
		Event: audit.End, Tool: name, Caller: c.Name, Account: c.Account, Via: c.Via, Client: c.Client,
		Code: tool.CodeOf(err), Message: err.Error(),
	})
}
