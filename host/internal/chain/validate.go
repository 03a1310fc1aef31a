package chain

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// MaxArguments is the maximum size of a call's arguments, in bytes: 16 MiB.
const MaxArguments = 16 << 20

// Validate refuses calls whose arguments do not match the tool's input schema.
func Validate(input *schema.Schema) Middleware {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			if err := CheckArguments(ctx, input, call.Name, call.Arguments); err != nil {
				return tool.Result{}, err
			}
			return next(ctx, call)
		}
	}
}

// CheckArguments checks arguments as [Validate] does.
//
// # Errors
//
//   - [tool.CodeInvalidArguments], "Invalid tool call: ..." with every fault and the
//     path to the value
//   - [tool.CodeResourceExhausted] for more than [MaxArguments], and for arguments
//     that would take too long to check
//   - the code of ctx if it ends first
func CheckArguments(ctx context.Context, input *schema.Schema, name string, args []byte) error {
	if len(args) > MaxArguments {
		return refuse(callstage.Validate, tool.CodeResourceExhausted, name,
			fmt.Sprintf("the arguments of tool %s have %d bytes, more than %d", name, len(args), MaxArguments),
			"send less at once")
	}
	err := input.Check(ctx, args)
	if err == nil {
		return nil
	}
	bad := incompleteCheck(err, name, "arguments")
	if bad == nil {
		bad = tool.Errorf(tool.CodeInvalidArguments, "Invalid tool call: %w", err).Fix(remedy.ShowTool.For(name))
	}
	bad.Tool, bad.Stage, bad.Unsent = name, callstage.Validate, true
	return bad
}

// incompleteCheck returns the error for a value whose check was not completed, or nil
// if it was completed and the value does not fit.
func incompleteCheck(err error, name, what string) *tool.Error {
	var violation *schema.Violation
	var limit *schema.LimitError
	switch {
	case errors.As(err, &violation):
		return nil
	case errors.As(err, &limit):
		return tool.Errorf(tool.CodeResourceExhausted,
			"the %s of tool %s would take too long to check against its schema", what, name).
			Because(err).Try("send fewer or shorter values at once")
	}
	return tool.Errorf(tool.CodeOf(err), "the %s of tool %s were not checked to the end: %w", what, name, err).
		Try("allow more time, or send fewer or shorter values at once")
}
