package host

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Outcome is how a call ended, for a model. Success and Error exclude each other; Content
// is always text that can be shown. Texts of errors are those of [tool.ModelText].
type Outcome struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Success    bool            `json:"success"`
	Content    string          `json:"content"`
	Error      *OutcomeError   `json:"error,omitempty"`
	Structured json.RawMessage `json:"structured,omitempty"`
	// Blocks, a []tool.Content, are what Content describes: its images, resources and links in full. They are
	// left out of the JSON if they are text alone, which is all in Content.
	Blocks   blocks   `json:"blocks,omitzero"`
	Metadata Metadata `json:"metadata"`
}

// OutcomeError classifies and explains a call that did not succeed.
type OutcomeError struct {
	Code    tool.Code `json:"code"`
	Message string    `json:"message"`
	// RetryAfter is how long to wait before trying again. Zero: unknown.
	RetryAfter tool.Duration `json:"retry_after,omitempty"`
}

// Metadata describes how a call was carried out.
type Metadata struct {
	// Tool is the tool's name in the registry, if the call was by its alias too; empty: no
	// tool has that name.
	Tool string `json:"tool,omitempty"`
	// ExecutionTimeMS is the whole time in the host, in milliseconds.
	ExecutionTimeMS float64 `json:"execution_time_ms"`
	// SafetyLevel is the tool's effective one; empty for an unknown tool.
	SafetyLevel string `json:"safety_level"`
	// Approved says that the approver allowed the call.
	Approved bool `json:"approved"`
	// Plugin serves the tool; empty: a function of this process, or no tool.
	Plugin string `json:"plugin"`
	// Attempts counts how often the provider was asked; 0: the call was not sent.
	Attempts int `json:"attempts"`
	// Phases say where the time went.
	Phases policy.Phases `json:"phases,omitzero"`
}

// Call runs one call and returns its outcome for a model. It does not return a Go error:
// refusals and crashes are outcomes too.
func (s *Session) Call(ctx context.Context, call tool.Call) Outcome {
	out, _, _ := s.CallWith(ctx, call, CallOptions{})
	return out
}

// CallWith is [Session.Call] with options. It also returns the result and the error from
// which the outcome was made, for callers that need details that are not for models.
func (s *Session) CallWith(ctx context.Context, call tool.Call, o CallOptions) (Outcome, tool.Result, error) {
	call = s.meant(call)
	if call.ID == "" {
		call.ID = s.host.nextID()
	}
	ctx, trace, end := o.begin(ctx, s, call)
	defer end()
	call.IdempotencyKey = cmp.Or(o.IdempotencyKey, call.IdempotencyKey)
	res, err := s.execute(ctx, trace, call)
	took := time.Since(trace.Begin)
	trace.Finish(took, call, res) // if nothing else has
	out := Outcome{ID: call.ID, Name: call.Name, Metadata: Metadata{
		ExecutionTimeMS: float64(took.Microseconds()) / 1000, Phases: *trace.Phases(),
		Approved: trace.Decision == audit.Approved, Plugin: trace.Plugin, Attempts: trace.Attempts,
	}}
	if d := trace.Definition; d != nil {
		out.Metadata.Tool, out.Metadata.SafetyLevel = d.Name, d.Safety.Effective().String()
	}
	return out.Ended(res, err), res, err
}

// Ended returns the outcome of the same call if it had ended with a result or, if err is not
// nil, with an error.
func (o Outcome) Ended(res tool.Result, err error) Outcome {
	o.Success, o.Error = err == nil && !res.IsError, nil
	if err != nil {
		o.Content, o.Structured, o.Blocks = tool.ModelText(err, o.Name), nil, nil
		o.Error = &OutcomeError{Code: tool.CodeOf(err), Message: o.Content, RetryAfter: tool.AsError(err).RetryAfter}
		return o
	}
	o.Content, o.Structured, o.Blocks = res.Text(), res.Structured, res.Content
	if res.IsError {
		o.Error = &OutcomeError{Code: tool.CodeToolFailed, Message: o.Content}
	}
	return o
}

// blocks are the content of a [tool.Result], in its JSON form.
type blocks []tool.Content

// IsZero reports whether the blocks say no more than [tool.Result.Text]: they are text, or none.
func (b blocks) IsZero() bool {
	return !slices.ContainsFunc(b, func(c tool.Content) bool {
		t, ok := c.(tool.TextContent)
		return !ok || t.Extra != ""
	})
}

// MarshalJSON implements [json.Marshaler].
func (b blocks) MarshalJSON() ([]byte, error) {
	var list struct {
		Content json.RawMessage `json:"content"`
	}
	text, err := json.Marshal(tool.Result{Content: b})
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	return list.Content, err
}

// UnmarshalJSON implements [json.Unmarshaler].
func (b *blocks) UnmarshalJSON(list []byte) error {
	var r tool.Result
	err := json.Unmarshal(slices.Concat([]byte(`{"content":`), list, []byte("}")), &r)
	*b = r.Content
	return err
}
