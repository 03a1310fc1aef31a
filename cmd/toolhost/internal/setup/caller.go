package setup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Callers that have their names from toolhost.
const (
	CLI = "cli" // who runs a command or a daemon: the user who does
	MCP = "mcp" // the client of toolhost serve --mcp stdio, unless a flag names another
)

// Named returns the name of the caller that a user of the system is, if the file has one.
func Named(c *config.Config, uid int) (name string, ok bool) {
	for name, caller := range c.Callers {
		if caller.UID != nil && *caller.UID == uid {
			return name, true
		}
	}
	return "", false
}

// OfSubject returns the name of the caller that a subject of the issuer is, if the file has one.
func OfSubject(c *config.Config, subject string) (name string, ok bool) {
	for name, caller := range c.Callers {
		if caller.Subject == subject && subject != "" {
			return name, true
		}
	}
	return "", false
}

// Shared reports whether the file names other users, for whom the daemon's socket is open.
func Shared(c *config.Config) bool {
	for _, caller := range c.Callers {
		if caller.UID != nil {
			return true
		}
	}
	return false
}

// Caller is what the file gives a caller. The zero value holds no capability, sees all
// tools, and is asked.
type Caller struct {
	name        string
	via, client string // how its calls come in, and from which program
	account     string // the host of the fleet that answers for it; empty: this one
	says        config.Caller
	// asked returns who is asked about calls of a tool, by the name that callers see.
	asked func(seen string) []config.Asker
	// patience is how long a question waits for its answer; 0: as long as the call.
	patience time.Duration
}

// CallerOf returns what the file gives a caller.
func CallerOf(c *config.Config, name string) Caller { return callerOf(c, name, c.Callers[name]) }

func callerOf(c *config.Config, name string, says config.Caller) Caller {
	asked := func(seen string) []config.Asker { return c.Asked(says, seen) }
	return Caller{name: name, says: says, asked: asked, patience: c.Approvals.Timeout}
}

// OfFleet is how the calls of other hosts come in, on record.
const OfFleet = "fleet"

// CallerOfFleet returns what the file gives a caller of another host.
func CallerOfFleet(c *config.Config, by fleet.Caller) Caller {
	account := cmp.Or(by.Peer, by.Host)
	name, says := c.NATS.Caller(account, by.Name)
	out := callerOf(c, name, says).Through(OfFleet, strings.TrimSpace(by.Name+" on "+by.Host))
	out.account = account
	return out
}

// Through returns the caller as one whose calls come in that way, from that program.
func (c Caller) Through(via, client string) Caller {
	c.via, c.client = via, client
	return c
}

// CanonicalNames reports whether MCP clients of the caller get the tools' own names.
func (c Caller) CanonicalNames() bool { return c.says.Names == config.NamesCanonical }

// Name returns the caller's name.
func (c Caller) Name() string { return c.name }

// Session returns the options of a session of the caller, except for its approver.
func (c Caller) Session() []host.SessionOption {
	return []host.SessionOption{
		host.WithCaller(host.Caller{
			Name: c.name, Rate: &c.says.Rate, Calls: c.says.MaxCalls, Account: c.account, Via: c.via, Client: c.client,
		}),
		host.WithGrants(c.says.Grants...), host.WithVisible(c.Sees), host.WithResultLimit(c.says.ResultLimit),
		host.WithToolSearch(c.says.Discovery == "search"),
	}
}

// Sees reports whether the caller sees a tool, by the definition that callers are shown.
func (c Caller) Sees(d tool.Definition) bool { return c.says.Sees(d.Name, d.Safety) }

// Visible returns those tools that the caller sees.
func (c Caller) Visible(all []host.Tool) []host.Tool {
	return slices.DeleteFunc(slices.Clone(all), func(t host.Tool) bool { return !c.Sees(t.Definition) })
}

// Holds reports whether the caller holds a capability.
func (c Caller) Holds(capability tool.Capability) bool {
	return slices.Contains(c.says.Grants, capability)
}

// Approver returns what decides on the caller's calls: the operator's answer in advance, or those
// who can be asked; nil: no one can be.
func (c Caller) Approver(can Askers) policy.Approver {
	switch c.says.Approval {
	case config.AnswerYes:
		return decided(policy.Decision{Verdict: policy.Allow, By: policy.Operator})
	case config.AnswerNo:
		reason := fmt.Sprintf("the operator lets the caller %s have no yes", c.name)
		return decided(policy.Decision{Verdict: policy.Deny, By: policy.Operator, Reason: reason})
	}
	asked := c.asking(can)
	if asked == nil || c.patience == 0 {
		return asked
	}
	return policy.ApproverFunc(func(ctx context.Context, r policy.Request) (policy.Decision, error) {
		limited, cancel := context.WithTimeout(ctx, c.patience)
		defer cancel()
		d, err := asked.Approve(limited, r)
		if err == nil || limited.Err() == nil || ctx.Err() != nil {
			return d, err
		}
		return policy.Decision{
			Verdict: policy.Deny, By: "timeout",
			Reason: fmt.Sprintf("there was no answer within %v, which approvals.timeout in the configuration sets", c.patience),
		}, nil
	})
}

// SaysYes approves all calls, as the operator said with --yes.
var SaysYes = decided(policy.Decision{Verdict: policy.Allow, By: "--yes"})

func decided(d policy.Decision) policy.Approver {
	return policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) { return d, nil })
}
