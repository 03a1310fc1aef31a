package mcpclient

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Before 2026-07-28 a server asks in a request of its own, which does not say during which call.

// whose returns the context of the call that a request of the server belongs to, ending with
// ctx: the one on whose stream it came, or else one of the only caller who has any open.
func (l *link) whose(ctx context.Context, from origin) (context.Context, func(), error) {
	call, callers := l.open.only()
	if from.Call != nil {
		call, callers = l.open.at(*from.Call), 0
	}
	switch {
	case call != nil:
		out, cancel := context.WithCancel(call.ctx)
		stop := context.AfterFunc(ctx, cancel)
		call.then(cancel)
		return out, func() { stop(); cancel() }, nil
	case callers == 0:
		return nil, nil, mcpwire.InvalidRequest("no call is open that the question could belong to")
	}
	return nil, nil, mcpwire.InvalidRequest(
		"several callers have open calls, and this revision of the protocol does not say which of them to ask; " +
			"a question must not reach the wrong one")
}

// asJSONRPC is what the server learns of an error of whoever was asked.
func asJSONRPC(err error) error {
	if e, ok := errors.AsType[*tool.Error](err); ok {
		return mcpwire.InvalidRequest(e.Message)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return mcpwire.InvalidRequest("the question was not answered in time")
	}
	return err
}

func (l *link) elicitationRequest(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	from := takeOrigin(req.Params.Meta)
	ctx, end, err := l.whose(ctx, from)
	if err != nil {
		return nil, err
	}
	defer end()
	p := *req.Params
	if from.Form != "" {
		p.RequestedSchema = json.RawMessage(from.Form)
	}
	out, err := l.elicit(ctx, &p)
	return out, asJSONRPC(err)
}

func (l *link) samplingRequest(
	ctx context.Context, req *mcp.CreateMessageWithToolsRequest,
) (*mcp.CreateMessageWithToolsResult, error) {
	ctx, end, err := l.whose(ctx, takeOrigin(req.Params.Meta))
	if err != nil {
		return nil, err
	}
	defer end()
	out, err := l.sample(ctx, req.Params)
	return out, asJSONRPC(err)
}

// receiving answers what the SDK would answer by itself.
func (l *link) receiving(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		k := asksFor[method]
		if ask, ok := req.(*mcp.ElicitRequest); ok && l.u.config.Questions.allows(k) {
			// The SDK refuses forms that others take, and fills in the defaults of those that people left empty.
			return l.elicitationRequest(ctx, ask)
		}
		if k == "" || k != askRoots && l.u.config.Questions.allows(k) {
			return next(ctx, method, req)
		}
		of, end, err := l.whose(ctx, takeOrigin(req.GetParams().GetMeta()))
		if !l.u.config.Questions.allows(k) {
			if err == nil {
				ctx = of
				defer end()
			}
			return nil, asJSONRPC(l.permit(ctx, k))
		}
		if err != nil {
			return l.u.offeredRoots(), nil
		}
		defer end()
		out, err := l.roots(of)
		if err != nil && of.Err() != nil && ctx.Err() == nil { // the call has ended, and the server still wants to know
			return l.u.offeredRoots(), nil
		}
		if err != nil {
			return nil, asJSONRPC(err)
		}
		return out, nil
	}
}
