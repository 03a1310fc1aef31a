package policy

import (
	"context"
	"fmt"

	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// MaxArguments bounds a call's arguments, in bytes: 16 MiB.
const MaxArguments = 16 << 20

// Validate refuses calls whose arguments do not fit the tool's input schema.
func Validate(input *schema.Schema) tool.Middleware {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			if err := CheckArguments(input, call.Name, call.Arguments); err != nil {
				return tool.Result{}, err
			}
			return next(ctx, call)
		}
	}
}

// CheckArguments is the judgement that [Validate] makes.
//
// # Errors
//
// [tool.CodeInvalidArguments], "Invalid tool call: ..." with every fault and the
// path to the value; [tool.CodeResourceExhausted] for more than [MaxArguments].
func CheckArguments(input *schema.Schema, name string, args []byte) error {
	if len(args) > MaxArguments {
		return &tool.Error{
			Code: tool.CodeResourceExhausted, Tool: name, Stage: tool.StageValidate, Unsent: true,
			Message: fmt.Sprintf("The arguments of tool %s have %d bytes, more than %d", name, len(args), MaxArguments),
			Hint:    "send less at once",
		}
	}
	err := input.Check(args)
	if err == nil {
		return nil
	}
	return &tool.Error{
		Code: tool.CodeInvalidArguments, Tool: name, Stage: tool.StageValidate, Unsent: true,
		Message: "Invalid tool call: " + err.Error(),
		Hint:    "see toolhost tools show " + name, Err: err,
	}
}
