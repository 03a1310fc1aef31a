package tooltest

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Call calls a tool as a host does, for tests of single tools: it checks the definition, the
// arguments against the input schema before the tool runs, and the structured result against
// the output schema. Arguments are JSON; empty: {}. There is no approval and no capability.
//
// # Errors
//
// Those of a host: [tool.CodeInvalidDefinition]; [tool.CodeInvalidArguments], "Invalid tool
// call: ..."; [tool.CodeInvalidResult]; those of the tool.
func Call(ctx context.Context, t tool.Tool, arguments string) (tool.Result, error) {
	set, err := tool.NewSet(t)
	if err != nil {
		return tool.Result{}, err
	}
	c := call(t.Name, arguments)
	if err := checkArguments(ctx, t.Definition, c.Arguments); err != nil {
		return tool.Result{}, err
	}
	res, err := set.Execute(ctx, c)
	if err != nil {
		return res, err
	}
	return res, checkResult(ctx, t.Definition, res)
}

func checkArguments(ctx context.Context, d tool.Definition, args json.RawMessage) error {
	input, err := schema.CompileInput(d.InputSchema)
	if err != nil {
		return badSchema(d, "input", err)
	}
	if err := input.Check(ctx, args); err != nil {
		return tool.Errorf(tool.CodeInvalidArguments, "Invalid tool call: %w", err).
			Of(d.Name, "").At(callstage.Validate).NeverSent()
	}
	return nil
}

func checkResult(ctx context.Context, d tool.Definition, res tool.Result) error {
	if len(d.OutputSchema) == 0 || res.IsError {
		return nil
	}
	output, err := schema.CompileOutput(d.OutputSchema)
	if err != nil {
		return badSchema(d, "output", err)
	}
	bad := &tool.Error{Code: tool.CodeInvalidResult, Tool: d.Name, Stage: callstage.Output}
	if len(res.Structured) == 0 {
		bad.Message = fmt.Sprintf("the result of tool %s has no structured output, which its output schema promises", d.Name)
		return bad
	}
	if err := output.Check(ctx, res.Structured); err != nil {
		bad.Message, bad.Err = fmt.Sprintf("the result of tool %s breaks its output schema: %v", d.Name, err), err
		return bad
	}
	return nil
}

func badSchema(d tool.Definition, which string, err error) error {
	return tool.Errorf(tool.CodeInvalidDefinition, "tool %q: %s schema: %w", d.Name, which, err).
		Of(d.Name, "").At(callstage.Register).Try("correct the tool's definition")
}
