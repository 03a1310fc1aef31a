// Package approval is the queue of a daemon: calls that wait until an operator approves or denies
// them. Begin with [NewQueue], which is a [policy.Approver].
package approval

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/excerpt"
	"github.com/toolhost/toolhost/internal/redact"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Bounds of a question, in bytes.
const (
	maxArguments = 64 << 10
	maxPreview   = 256 << 10
	maxOmitted   = 4 << 10
	maxText      = 256 // each other text
)

// State is how far a question is.
type State string

// The states.
const (
	Waiting   State = "waiting"
	Approved  State = "approved"
	Denied    State = "denied"
	Expired   State = "expired"   // no answer came in time
	Withdrawn State = "withdrawn" // the caller gave up, or is gone
)

// Question is a call that waits for an answer, as operators see it.
type Question struct {
	ID    string `json:"id"`
	State State  `json:"state"`
	// Tool is the tool's name in the registry.
	Tool        string `json:"tool"`
	Safety      string `json:"safety"`
	Description string `json:"description,omitempty"`
	Plugin      string `json:"plugin,omitempty"`
	Caller      string `json:"caller,omitempty"`
	Via         string `json:"via,omitempty"`
	Client      string `json:"client,omitempty"`
	Session     string `json:"session,omitempty"`
	// Call is the call's ID, as the audit log has it.
	Call string `json:"call,omitempty"`
	// Arguments are those with which the call runs if it is approved, with sensitive values
	// replaced. If they are larger than 64 KiB, it is nil: Begins has the beginning of each of them,
	// and Omitted says how many bytes are missing, and of which.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Begins    string          `json:"arguments_begin,omitempty"`
	Omitted   string          `json:"arguments_omitted,omitempty"`
	// Digest is that of the arguments, as in the audit log.
	Digest string    `json:"arguments_digest"`
	Since  time.Time `json:"since"`
	// Until is when it expires; zero: with the call.
	Until time.Time `json:"until,omitzero"`
	// Preview is what the plugin says that the call would do, at most 256 KiB of it; PreviewError
	// is why it could not say. Lists leave both out.
	Preview      string `json:"preview,omitempty"`
	PreviewError string `json:"preview_error,omitempty"`
	// Ended, By and Reason are when the question was closed, by whom and why.
	Ended  time.Time `json:"ended,omitzero"`
	By     string    `json:"by,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

// Describe returns the question about a call. It asks for the preview, once: the operator sees what
// it said when the question came. If that is a failure, it reports fails, and there is nothing to ask.
func Describe(ctx context.Context, r policy.Request) (q Question, fails bool) {
	q = Question{
		Tool: r.Definition.Name, Safety: r.Definition.Safety.Effective().String(), Description: r.Definition.Description,
		Plugin: r.Plugin, Caller: r.Caller, Via: r.Via, Client: r.Client, Session: r.Session, Call: r.Call.ID,
	}
	if q.Until, _ = ctx.Deadline(); r.Preview != nil {
		switch res, err := r.Preview(ctx); {
		case tool.CodeOf(err) == tool.CodeNotFound: // there is none
		case err != nil:
			q.PreviewError = tool.AsError(err).Message
		case res.IsError:
			return q, true
		default:
			q.Preview = res.Text()
		}
	}
	q.describe(cmp.Or(string(r.Call.Arguments), "{}"), r.Definition.Sensitive)
	q.bound()
	return q, false
}

// describe sets what the question says of the arguments.
func (q *Question) describe(args string, sensitive []string) {
	text := []byte(args)
	q.Digest = audit.Digest(text)
	if len(sensitive) > 0 && json.Valid(text) {
		hides := func(key string) bool { return redact.Among(sensitive, key) }
		if kept, digest := redact.Values(text, hides, 2*len(text)+maxArguments); digest != "" {
			text, q.Digest = kept, digest
		}
	}
	if len(text) <= maxArguments && json.Valid(text) {
		q.Arguments = text
		return
	}
	q.Begins, q.Omitted = excerpt.Of(text, maxArguments)
}

// bound makes all texts printable and short enough, whoever wrote them.
func (q *Question) bound() {
	for _, text := range []*string{
		&q.Tool, &q.Safety, &q.Description, &q.Plugin, &q.Caller, &q.Via, &q.Client, &q.Session, &q.Call, &q.Digest, &q.PreviewError,
	} {
		*text = sanitize.Line(*text, maxText)
	}
	if omitted := len(q.Preview) - maxPreview; omitted > 0 {
		q.Preview = excerpt.Clip(q.Preview, maxPreview) + "\n(the rest is not shown)"
	}
	if len(q.Arguments) > maxArguments || q.Arguments != nil && !json.Valid(q.Arguments) {
		q.Arguments = nil
	}
	q.Begins = excerpt.Clip(q.Begins, 3*maxArguments)
	q.Omitted = sanitize.Line(q.Omitted, maxOmitted)
}

// short returns the question as lists have it.
func (q Question) short() Question {
	q.Preview, q.PreviewError = "", ""
	return q
}

// over returns the error for an answer to a question that was closed.
func (q Question) over() error {
	by := ""
	if q.By != "" {
		by = " by " + q.By
	}
	state := map[State]string{Expired: "has expired", Withdrawn: "was withdrawn, as its caller is gone"}[q.State]
	return tool.Errorf(tool.CodeAlreadyExists, "the question %s about %s %s%s, %s ago", q.ID, q.Tool,
		cmp.Or(state, "was "+string(q.State)), by, time.Since(q.Ended).Round(time.Second)).Of(q.Tool, "").
		Try("toolhost approvals lists the questions that wait")
}
