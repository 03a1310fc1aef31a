package mcpplugin

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/mcpjson"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// call runs a call of the host. It is the handler of every tool.
func (b *bridge) call(ctx context.Context, call tool.Call) (tool.Result, error) {
	c, err := b.session(ctx, call.Session)
	if err != nil {
		return tool.Result{}, err
	}
	defer b.leave(c)
	r := b.begin(ctx)
	defer b.end(r)
	arguments := call.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage(`{}`)
	}
	_, sent := c.session.CallTool(ctx, &mcp.CallToolParams{Meta: r.meta(), Name: b.nameOf(call.Name), Arguments: arguments})
	if ctx.Err() != nil {
		return tool.Result{}, ctx.Err()
	}
	select {
	case got := <-r.ended:
		return resultOf(call.Name, got)
	default: // it did not reach the handler
		return tool.Result{}, failure(call.Name, sent)
	}
}

// resultOf converts what a handler returned.
func resultOf(name string, got outcome) (tool.Result, error) {
	if got.err != nil {
		return tool.Result{}, failure(name, got.err)
	}
	var own *tool.Error // that a typed handler returned: its code would be lost
	if r, ok := got.result.(*mcp.CallToolResult); ok && r.IsError && errors.As(r.GetError(), &own) {
		return tool.Result{}, own
	}
	raw, err := json.Marshal(got.result)
	if err != nil {
		return tool.Result{}, unreadable(name, err)
	}
	out, err := mcpjson.Result(raw)
	if err != nil {
		return tool.Result{}, unreadable(name, err)
	}
	return out, nil
}

func unreadable(name string, err error) error {
	return tool.Errorf(tool.CodeInvalidResult, "the result of tool %s is not one of MCP: %w", name, err).
		Of(name, "").At(callstage.Execute)
}

// failure returns the error of a request as the host has it.
func failure(name string, err error) error {
	var own *tool.Error
	var theirs *jsonrpc.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &theirs) && theirs.Code == jsonrpc.CodeInvalidParams:
		return tool.Errorf(tool.CodeInvalidArguments, "Invalid tool call: %s", theirs.Message).Of(name, "").
			At(callstage.Execute).Because(err).
			Try("read the tool's description and schema, and call again with other arguments")
	case err == nil:
		err = errors.New("the MCP server did not answer")
	}
	return err // of which the set makes one of the tool
}
