package host

import (
	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/sanitize"
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
	// Account is who answers for the caller, such as the host of a fleet that it calls from: it is
	// on record, and nothing is decided or counted by it. Default: empty, this host.
	Account string
	// Via is how the calls come in, such as "mcp", for the record. Default: empty, in no way that
	// is on record. It is cut to 128 bytes, and Account and Client too.
	Via string
	// Client is the program at the other end as it calls itself, such as "claude-code 2.1.0".
	// It is the program's own word: it is on record, and nothing is decided by it. Characters that
	// do not print are escaped. Default: empty, not known.
	Client string
}

// Anonymous is the name of the caller of [Host.Execute], [Host.Call] and [Host.CallAll].
const Anonymous = "anonymous"

// WithCaller says who makes the session's calls. Default: the session is a caller of its own.
func WithCaller(c Caller) SessionOption {
	for _, s := range []*string{&c.Account, &c.Via, &c.Client} {
		*s = sanitize.Line(*s, maxOrigin)
	}
	return func(s *Session) { s.caller.Caller = c }
}

// maxOrigin bounds [Caller.Account], [Caller.Via] and [Caller.Client], in bytes.
const maxOrigin = 128

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
func (c *asCaller) Via() string                     { return c.caller.Via }
func (c *asCaller) Client() string                  { return c.caller.Client }
func (c *asCaller) Account() string                 { return c.caller.Account }
func (c *asCaller) Key() string                     { return c.caller.key }
func (c *asCaller) Quota() *chain.Quota             { return c.caller.quota }
func (c *asCaller) Holds(held tool.Capability) bool { return (*Session)(c).Holds(held) }
func (c *asCaller) Approver() policy.Approver       { return c.approver }
func (c *asCaller) ResultLimit() int                { return c.limit }

func (c *asCaller) mayCall(d *tool.Definition) bool { return (*Session)(c).Sees(d) }

func (c *asCaller) discovers() *discovery {
	if !c.searches {
		return nil
	}
	return c.host.discovery()
}

func (c *asCaller) holder() *Session {
	if c.host.anonymous.id == c.id {
		return nil
	}
	return (*Session)(c)
}
