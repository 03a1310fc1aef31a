package host

import (
	"context"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Receive returns the outcome of a call of the session's caller that ended elsewhere, such as one
// that went on while this host was not there, with the result as CallWith would have returned it:
// checked and cut as those of the tool are. It is not recorded as a call. A tool that the host does
// not have any more has no output schema.
//
// # Errors
//
// [tool.CodeResourceExhausted] and [tool.CodeInvalidResult] for a result that may not be passed on;
// failed, if it is not nil.
func (s *Session) Receive(ctx context.Context, call tool.Call, res tool.Result, failed error) (Outcome, tool.Result, error) {
	output := chain.Output(nil, s.host.compiler.defaults.Limits.MaxResult)
	out := Outcome{ID: call.ID, Name: call.Name}
	if e := s.host.registry.find(call.Name); e != nil {
		if e, err := e.compiled(); err == nil {
			output = chain.Output(e.output, e.settings.Limits.MaxResult)
			out.Metadata.Tool, out.Metadata.SafetyLevel = e.def.Name, e.def.Safety.Effective().String()
			out.Metadata.Plugin = e.owner
		}
	}
	received := func(context.Context, tool.Call) (tool.Result, error) { return res, failed }
	res, err := output(received)(chain.WithTrace(tool.WithDeltas(ctx, nil), &chain.Trace{Caller: s.as}), call)
	return out.Ended(res, err), res, err
}
