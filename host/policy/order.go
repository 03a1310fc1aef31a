package policy

import (
	"context"
	"errors"
	"strings"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// ErrCannotAsk is in the error of an approver that has no one to ask, such as an MCP client that
// shows no questions. The call is refused with [tool.CodeApprovalRequired], not with
// [tool.CodeApprovalDenied]. If the error is a [tool.Error], the refusal has its hints.
var ErrCannotAsk = errors.New("no one can be asked")

// InOrder returns an approver that asks the first of several that can ask: the error
// [ErrCannotAsk] hands the question to the next one. Any other answer counts: a denial, and a
// failure too. Nil approvers are skipped.
//
// # Errors
//
// [ErrCannotAsk] with the reasons of all if none of them can ask; else that of the approver that
// was asked.
func InOrder(approvers ...Approver) Approver {
	return ApproverFunc(func(ctx context.Context, r Request) (Decision, error) {
		var why cannotAsk
		for _, a := range approvers {
			if a == nil {
				continue
			}
			d, err := a.Approve(ctx, r)
			if !errors.Is(err, ErrCannotAsk) || ctx.Err() != nil {
				return d, err
			}
			why = append(why, err)
		}
		if len(why) == 0 {
			return Decision{}, ErrCannotAsk
		}
		return Decision{}, why
	})
}

// cannotAsk are the errors of approvers of which none can ask.
type cannotAsk []error

func (c cannotAsk) Error() string {
	texts := make([]string, len(c))
	for i, err := range c {
		texts[i] = strings.TrimSuffix(tool.AsError(err).Message, ": "+ErrCannotAsk.Error())
	}
	return strings.Join(texts, "; ")
}

func (c cannotAsk) Unwrap() []error { return c }
