package host

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/internal/chain"
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
	Metadata   Metadata        `json:"metadata"`
}

// OutcomeError classifies and explains a call that did not succeed.
type OutcomeError struct {
	Code    tool.Code `json:"code"`
	Message string    `json:"message"`
}

// Metadata describes how a call was carried out.
type Metadata struct {
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
}

// Call runs one call and returns its outcome for a model. It does not return a Go error:
// refusals and crashes are outcomes too.
func (s *Session) Call(ctx context.Context, call tool.Call) Outcome {
	out, _, _ := s.CallDetailed(ctx, call)
	return out
}

// CallDetailed is [Session.Call], and also returns the result and the error from which the
// outcome was made, for callers that need content blocks, or details that are not for models.
func (s *Session) CallDetailed(ctx context.Context, call tool.Call) (Outcome, tool.Result, error) {
	if call.ID == "" {
		call.ID = s.host.nextID()
	}
	trace := &chain.Trace{Caller: (*asCaller)(s)}
	res, err := s.execute(ctx, trace, call)
	out := Outcome{ID: call.ID, Name: call.Name, Metadata: Metadata{
		ExecutionTimeMS: float64(time.Since(trace.Begin).Microseconds()) / 1000,
		Approved:        trace.Decision == audit.Approved, Plugin: trace.Plugin, Attempts: trace.Attempts,
	}}
	if trace.Definition != nil {
		out.Metadata.SafetyLevel = trace.Definition.Safety.Effective().String()
	}
	switch {
	case err != nil:
		out.Content = tool.ModelText(err, call.Name)
		out.Error = &OutcomeError{Code: tool.CodeOf(err), Message: out.Content}
	case res.IsError:
		out.Content, out.Structured = res.Text(), res.Structured
		out.Error = &OutcomeError{Code: tool.CodeToolFailed, Message: out.Content}
	default:
		out.Success, out.Content, out.Structured = true, res.Text(), res.Structured
	}
	return out, res, err
}

// CallAll runs several calls and returns their outcomes in the same order, one for each,
// whatever happens to the others. Consecutive calls of safe tools overlap; any other call
// waits for those before it, and those after it wait for it.
func (s *Session) CallAll(ctx context.Context, calls []tool.Call) []Outcome {
	out := make([]Outcome, len(calls))
	var running sync.WaitGroup
	for i, call := range calls {
		if e := s.host.registry.lookup(call.Name); e != nil && e.def.Safety.Effective() == tool.Safe {
			running.Go(func() { out[i] = s.Call(ctx, call) })
			continue
		}
		running.Wait()
		out[i] = s.Call(ctx, call)
	}
	running.Wait()
	return out
}
