package mcpclient

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Before 2026-07-28 a server asks in a request of its own, which does not say during which call.

// whose returns the context of the call that a request of the server belongs to, ending with
// ctx: the one on whose stream it came, or else one of the only caller who has any open.
func (l *link) whose(ctx context.Context, params any) (context.Context, func(), error) {
	call, known := l.schemas.callOf(params)
	callers := 1
	if !known {
		call, callers = l.open.only()
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
	var e *tool.Error
	if errors.As(err, &e) {
		return mcpwire.InvalidRequest(e.Message)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return mcpwire.InvalidRequest("the question was not answered in time")
	}
	return err
}

func (l *link) elicitationRequest(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	ctx, end, err := l.whose(ctx, req.Params)
	if err != nil {
		return nil, err
	}
	defer end()
	p := *req.Params
	if raw := l.schemas.schemaOf(req.Params); raw != nil {
		p.RequestedSchema = raw
	}
	out, err := l.elicit(ctx, &p)
	return out, asJSONRPC(err)
}

func (l *link) samplingRequest(
	ctx context.Context, req *mcp.CreateMessageWithToolsRequest,
) (*mcp.CreateMessageWithToolsResult, error) {
	ctx, end, err := l.whose(ctx, req.Params)
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
		if method != "roots/list" {
			return next(ctx, method, req)
		}
		ctx, end, err := l.whose(ctx, req.GetParams())
		if err != nil {
			return &mcp.ListRootsResult{Roots: []*mcp.Root{}}, nil
		}
		defer end()
		out, err := l.roots(ctx)
		if err != nil {
			return nil, asJSONRPC(err)
		}
		return out, nil
	}
}

// schemaMemory has the questions that came lately: the SDK hands them on decoded, without the
// order of a form's fields, and without the call on whose stream they came.
type schemaMemory struct {
	mu  sync.Mutex
	all []asked
}

type asked struct {
	key    [sha256.Size]byte
	schema json.RawMessage
	call   *openCall
}

// Bounds of what is remembered.
const (
	maxAsked      = 64        // questions
	maxFormMemory = 256 << 10 // bytes of a form; the fields of a larger one lose their order
)

// put remembers a question.
func (m *schemaMemory) put(params json.RawMessage, call *openCall) {
	a := asked{call: call}
	p, err := elicitation(params)
	if err == nil {
		if form, _ := p.RequestedSchema.(json.RawMessage); len(form) <= maxFormMemory {
			a.schema = form
		}
	}
	var decoded any
	if json.Unmarshal(params, &decoded) != nil && len(params) > 0 {
		return
	}
	a.key = keyOf(decoded)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all = append(m.all, a); len(m.all) > maxAsked {
		m.all = slices.Delete(m.all, 0, 1)
	}
}

// keyOf returns the same digest for params as they were sent and as the SDK decoded them.
func keyOf(params any) [sha256.Size]byte {
	text, _ := json.Marshal(params)
	var p struct {
		Message, URL    string
		RequestedSchema any
		Messages        any
		SystemPrompt    string
	}
	_ = json.Unmarshal(text, &p)
	key, _ := json.Marshal(p)
	return sha256.Sum256(key)
}

// schemaOf returns the schema of a question as it was sent; nil: unknown.
func (m *schemaMemory) schemaOf(params any) json.RawMessage {
	key := keyOf(params)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range slices.Backward(m.all) {
		if a.key == key {
			return a.schema
		}
	}
	return nil
}

// callOf returns the call on whose stream a question came, and whether that is known. If the
// same question came on streams of several callers, it is known that it belongs to none.
func (m *schemaMemory) callOf(params any) (call *openCall, known bool) {
	key := keyOf(params)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.all {
		if a.key != key || a.call == nil {
			continue
		}
		a.call.mu.Lock()
		ended := a.call.ended
		a.call.mu.Unlock()
		switch {
		case ended:
		case known && call != nil && call.caller() != a.call.caller():
			return nil, true
		default:
			call, known = a.call, true
		}
	}
	return call, known
}
