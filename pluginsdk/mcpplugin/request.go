package mcpplugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/mcpjson"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// request is one to the server, of which it has to be known whose it is.
type request struct {
	host  context.Context //nolint:containedctx // it is the host's, and reaches the handler past the SDK
	token string
	ended chan outcome // receives one
}

// outcome is what the server returned, before it was written.
type outcome struct {
	result mcp.Result
	err    error
}

// meta is the "_meta" of the request.
func (r *request) meta() mcp.Meta {
	m := mcp.Meta{"progressToken": r.token}
	if trace := tool.TraceFrom(r.host); trace.Parent != "" {
		m["traceparent"] = trace.Parent
		if trace.State != "" {
			m["tracestate"] = trace.State
		}
	}
	return m
}

type requestKey struct{}

// handling is the context of a handler: it ends as the SDK says, and has the values and the
// deadline of the host's call too.
type handling struct {
	context.Context
	request *request
}

// Value implements [context.Context].
func (h handling) Value(key any) any {
	if key == (requestKey{}) {
		return h.request
	}
	if v := h.Context.Value(key); v != nil {
		return v
	}
	return h.request.host.Value(key)
}

// Deadline implements [context.Context].
func (h handling) Deadline() (time.Time, bool) { return h.request.host.Deadline() }

// receiving gives handlers the context of the host's call, and takes what they return before it is
// written and read again.
func (b *bridge) receiving(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, in mcp.Request) (res mcp.Result, err error) {
		var r *request
		switch p := in.GetParams().(type) {
		case *mcp.CallToolParamsRaw:
			if p != nil {
				r = b.requestOf(textOf(p.GetProgressToken()))
			}
		case *mcp.ListToolsParams:
			if p != nil {
				r = b.requestOf(textOf(p.Meta["progressToken"]))
			}
		}
		if r == nil { // of another client, or of another kind
			return next(ctx, method, in)
		}
		defer func() {
			if v := recover(); v != nil {
				err = &tool.Error{
					Code: tool.CodeToolFailed, Stage: callstage.Execute, Message: fmt.Sprintf("panic: %v", v), Detail: string(debug.Stack()),
				}
				res = nil
			}
			r.ended <- outcome{res, err}
			switch {
			case err != nil:
			case method == "tools/call":
				res = &mcp.CallToolResult{Content: []mcp.Content{}}
			default:
				res = &mcp.ListToolsResult{Tools: []*mcp.Tool{}}
			}
		}()
		return next(handling{ctx, r}, method, in)
	}
}

func textOf(v any) string {
	s, _ := v.(string)
	return s
}

// sending hands what a handler reports, logs and asks to the host. What is not sent in the
// context of a handler has no call that it belongs to, and goes the way of the SDK.
func sending(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, out mcp.Request) (mcp.Result, error) {
		r, _ := ctx.Value(requestKey{}).(*request)
		if r == nil {
			return next(ctx, method, out)
		}
		switch p := out.GetParams().(type) {
		case *mcp.ElicitParams:
			return r.elicit(ctx, p)
		case *mcp.LoggingMessageParams:
			level, text := lineOf(p)
			tool.Log(r.host, level, text)
		case *mcp.ProgressNotificationParams:
			tool.Report(r.host, tool.Progress{Done: p.Progress, Total: p.Total, Message: p.Message})
		default:
			return next(ctx, method, out)
		}
		return nil, nil //nolint:nilnil // as the SDK wants it of a notification
	}
}

// lineOf returns a line of a server's log.
func lineOf(p *mcp.LoggingMessageParams) (slog.Level, string) {
	text, ok := p.Data.(string)
	if !ok {
		b, err := json.Marshal(p.Data)
		if err != nil {
			b = fmt.Append(nil, p.Data)
		}
		text = string(b)
	}
	if p.Logger != "" {
		text = p.Logger + ": " + text
	}
	return mcpjson.Level(p.Level), text
}

// logged takes a line that was logged outside a call.
func logged(ctx context.Context, in *mcp.LoggingMessageRequest) {
	level, text := lineOf(in.Params)
	slog.Log(ctx, level, text)
}

// unknownCall answers a question that was asked outside a call.
func unknownCall(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return nil, errors.New("it is not known which call the question belongs to: ask with the context of the tool's handler")
}

// elicit puts a question of a handler to whoever made the call.
func (r *request) elicit(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	if p.Mode == "url" {
		return nil, tool.Errorf(tool.CodeUnsupported, "a host asks with forms, and not with web pages").
			Try("ask with a form, or return the page's address in the result")
	}
	q := tool.Question{Message: p.Message}
	if p.RequestedSchema != nil {
		var err error
		if q.Schema, err = json.Marshal(p.RequestedSchema); err != nil {
			return nil, err
		}
		q.Schema = mcpjson.Present(q.Schema)
	}
	answer, err := tool.Ask(tool.WithAsker(ctx, callctx.Get[tool.Asker](r.host, callctx.Ask{})), q)
	if err != nil {
		return nil, err
	}
	out := &mcp.ElicitResult{Action: string(answer.Action)}
	if answer.Action == "" {
		out.Action = string(tool.Cancel)
	}
	if len(answer.Content) > 0 && answer.Action == tool.Accept {
		if err := json.Unmarshal(answer.Content, &out.Content); err != nil {
			return nil, err
		}
	}
	return out, nil
}
