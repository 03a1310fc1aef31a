// Package fault has errors pass from one host to another. [Sent] is for the one, [Received] for the other.
package fault

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/errorcode"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The bounds of the texts of an error that was received, in bytes.
const (
	MaxMessage = 8 << 10
	maxHint    = 2 << 10
)

// Sent returns an error as another host gets it: with the text of its causes, and without the evidence, such as
// the last words of a plugin, which is for this host's operator.
func Sent(err error) *tool.Error {
	e := *tool.AsError(err)
	e.Message = err.Error() // says more than the error's own if that is wrapped
	if advice := e.Advice(); advice != "" {
		e.Message = strings.TrimSuffix(e.Message, " ("+advice+")")
	}
	e.Detail = ""
	return &e
}

var stages = []string{
	callstage.Resolve, callstage.Validate, callstage.Authorize, callstage.RateLimit, callstage.Approve, callstage.Audit,
	callstage.Limit, callstage.Output, callstage.Start, callstage.Execute,
}

// Received returns an error of another host as this one can show it, whatever it is. Unsent is false.
func Received(from *tool.Error) *tool.Error {
	e := &tool.Error{
		Code: from.Code, Stage: from.Stage, Message: sanitize.Line(from.Message, MaxMessage), Hint: sanitize.Line(from.Hint, maxHint),
		OperatorHint: sanitize.Line(from.OperatorHint, maxHint), RetryAfter: max(from.RetryAfter, 0),
	}
	if errorcode.Of(e.Code).From < errorcode.OtherHost {
		e.Code = tool.CodeToolFailed
	}
	if !slices.Contains(stages, e.Stage) {
		e.Stage = callstage.Execute
	}
	if e.Message == "" {
		e.Message = string(e.Code)
	}
	return e
}
