package host

import (
	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Caller is who makes calls: a person, a program, the user at the other end of a socket, the
// owner of a token. It outlives its sessions. Tools' rate limits and the bounds here count the
// calls of all its sessions together, and the record names it.
type Caller struct {
	// Name identifies the caller: sessions with the same name have the same caller. Empty: the
	// session is a caller of its own, which the record has no name for.
	Name string
	// Rate bounds the calls of all tools together, in addition to the limits of tools. Default:
	// nil, no bound.
	Rate *tool.RateLimit
	// Calls is how many calls may be in progress at a time, those that wait for approval
	// included. Default: 0, no bound.
	Calls int
}

// Anonymous is the name of the caller of [Host.Execute], [Host.Call] and [Host.CallAll].
const Anonymous = "anonymous"

// WithCaller says who makes the session's calls. Default: the session is a caller of its own.
func WithCaller(c Caller) SessionOption { return func(s *Session) { s.caller.Caller = c } }

// WithRates counts calls for rate limits in a file, together with other hosts that use it, one
// after another or at the same time. Default: in memory, until the host ends.
func WithRates(path string) Option { return func(o *options) { o.rates = path } }

// account is a caller as the host counts its calls.
type account struct {
	Caller
	key   string // of its counts
	quota *chain.Quota
}

// open finds the caller's counts, which its sessions share. Session is the ID of the session.
func (a *account) open(r *chain.Rates, session string) {
	if a.key = a.Name; a.key == "" {
		a.key = "session/" + session
	}
	a.quota = r.Quota(a.key, a.Rate, a.Calls)
}

// asCaller is a session as the steps of a call see it.
type asCaller Session

var _ visitor = (*asCaller)(nil)

func (c *asCaller) Name() string                    { return c.caller.Name }
func (c *asCaller) ID() string                      { return c.id }
func (c *asCaller) Account() string                 { return c.caller.key }
func (c *asCaller) Quota() *chain.Quota             { return c.caller.quota }
func (c *asCaller) Holds(held tool.Capability) bool { return (*Session)(c).Holds(held) }
func (c *asCaller) Approver() policy.Approver       { return c.approver }
func (c *asCaller) ResultLimit() int                { return c.limit }

func (c *asCaller) mayCall(d *tool.Definition) bool { return (*Session)(c).Sees(d) }

func (c *asCaller) holder() *Session {
	if c.host.anonymous.id == c.id {
		return nil
	}
	return (*Session)(c)
}
