package host

import (
	"cmp"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/host/internal/listed"
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

// anonymous is the name of the caller of [Host.Execute], [Host.Call] and [Host.CallAll].
const anonymous = "anonymous"

// WithCaller says who makes the session's calls. Default: the session is a caller of its own.
func WithCaller(c Caller) SessionOption {
	for _, s := range []*string{&c.Account, &c.Via, &c.Client} {
		*s = sanitize.Line(*s, maxOrigin)
	}
	return func(s *Session) { s.caller = c }
}

// maxOrigin bounds [Caller.Account], [Caller.Via] and [Caller.Client], in bytes.
const maxOrigin = 128

// settle makes what the steps of a call see of the session. Its options are set.
func (s *Session) settle() {
	s.handle = listed.HandleOf(s.lists)
	c := s.caller
	s.as = &chain.Caller{
		Name: c.Name, Session: s.id, Via: c.Via, Client: c.Client, Account: c.Account, Key: cmp.Or(c.Name, "session/"+s.id),
		Holds: s.Holds, Approver: s.approver, ResultLimit: s.limit, Visit: &visit{session: s, of: s},
	}
	s.as.Quota = s.host.rates.Quota(s.as.Key, c.Rate, c.Calls) // sessions of the caller share it
}
