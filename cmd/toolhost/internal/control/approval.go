package control

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// approval is what somebody has to decide on: [policy.Request] as it travels.
type approval struct {
	Call       tool.Call       `json:"call"`
	Definition tool.Definition `json:"definition"`
	Plugin     string          `json:"plugin,omitempty"`
	Session    string          `json:"session"`
	// Preview says that there may be a preview.
	Preview bool `json:"preview,omitempty"`
	// Within is how long the question waits for an answer; 0: as long as the call.
	Within tool.Duration `json:"within,omitempty"`
}

func approvalOf(ctx context.Context, r policy.Request) *approval {
	a := &approval{Call: r.Call, Definition: r.Definition, Plugin: r.Plugin, Session: r.Session, Preview: r.Preview != nil}
	if end, ok := ctx.Deadline(); ok {
		a.Within = tool.Duration(max(time.Until(end), time.Millisecond))
	}
	return a
}

func (a approval) request() policy.Request {
	return policy.Request{Call: a.Call, Definition: a.Definition, Plugin: a.Plugin, Session: a.Session}
}

// decision is what somebody decided: [policy.Decision] as it travels. Who it was is
// not in it: that is the daemon's to know.
type decision struct {
	Verdict   string          `json:"verdict"`
	Reason    string          `json:"reason,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

var verdicts = map[string]policy.Verdict{"deny": policy.Deny, "allow": policy.Allow, "modify": policy.Modify}

// decisionOf counts an approver's error as a no, as a host does.
func decisionOf(d policy.Decision, err error) decision {
	if err != nil {
		return decision{Verdict: "deny", Reason: err.Error()}
	}
	out := decision{Verdict: "deny", Reason: d.Reason, Arguments: d.Arguments}
	for name, v := range verdicts {
		if v == d.Verdict {
			out.Verdict = name
		}
	}
	return out
}

// value is what a process decided, which is on record for it: that it has asked a person is
// not known.
func (d decision) value(by peer) (policy.Decision, error) {
	v, known := verdicts[d.Verdict]
	if !known {
		return policy.Decision{}, tool.Errorf(tool.CodeInvalidArguments, "unknown verdict %.20q: %s", d.Verdict, "use allow, deny or modify")
	}
	return policy.Decision{Verdict: v, Reason: fmt.Sprintf("%.400s", d.Reason), Arguments: d.Arguments, By: by.String()}, nil
}
