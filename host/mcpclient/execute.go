package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/mcpjson"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Execute implements [plugin.Connection].
//
// # Errors
//
// [tool.CodeInvalidArguments] and [tool.CodeNotFound] if the server says so;
// [tool.CodeToolFailed] for its other errors; [tool.CodeUnsupported] if it asks what the caller cannot
// answer; [tool.CodeResourceExhausted] for a result of more than 16 MiB, and [tool.CodeInvalidResult] for one
// that cannot be read; [tool.CodeCrashed] and [tool.CodeUnavailable] if it went away; the context's end.
func (l *link) Execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	if own := l.u.own(call.Name); own != "" {
		return l.executeOwn(ctx, own, call)
	}
	theirs, ok := l.listed.Load().theirs[call.Name]
	if !ok {
		return tool.Result{}, tool.Errorf(tool.CodeNotFound, "Unknown tool: %s", call.Name).
			Of(call.Name, l.u.config.Name).At(callstage.Execute).Try("list the tools again")
	}
	arguments := call.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	raw, err := l.rounds(ctx, call.Session, func(open *openCall, meta mcp.Meta, in answers) error {
		params := &mcp.CallToolParams{
			Meta: meta, Name: theirs, Arguments: arguments, InputResponses: in.responses, RequestState: in.state,
		}
		if l.direct != nil {
			return l.callDirectly(open, params)
		}
		_, err := l.session.CallTool(open.ctx, params)
		return err
	})
	if err != nil {
		return tool.Result{}, l.failure(ctx, call, err)
	}
	result, err := mcpjson.Result(raw)
	if err != nil {
		err = fmt.Errorf("tool %s of the MCP server %s: %w", call.Name, l.u.config.Name, err)
		l.fault(err)
		return tool.Result{}, tool.Errorf(tool.CodeInvalidResult, "%s", l.clean(err).Error()).
			Of(call.Name, l.u.config.Name).At(callstage.Execute).Because(err)
	}
	l.u.named.addContent(call.Session, result.Content)
	return result, nil
}

// callDirectly calls a tool without the SDK, with the "_meta" that it would add.
func (l *link) callDirectly(open *openCall, params *mcp.CallToolParams) error {
	if l.stateless() {
		params.Meta[mcp.MetaKeyProtocolVersion] = l.session.InitializeResult().ProtocolVersion
		params.Meta[mcp.MetaKeyClientInfo] = implementation()
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(params); err != nil {
		return err
	}
	return l.direct.request(open, mcpwire.MethodCall, bytes.TrimSuffix(text.Bytes(), []byte{'\n'}))
}

// answers are the answers to what a server asked in the result before.
type answers struct {
	responses mcp.InputResponseMap
	state     string
}

// needs is a result that is a question.
type needs struct {
	ResultType    string                  `json:"resultType"`
	InputRequests map[string]inputRequest `json:"inputRequests"`
	RequestState  string                  `json:"requestState"`
}

type inputRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

const (
	maxBusy  = 3 // answers of a server that only says that it is busy
	busyTime = 200 * time.Millisecond
)

// rounds sends a request, and again with answers as long as its result is a question. It
// returns the result as the server sent it.
func (l *link) rounds(
	ctx context.Context, session string, send func(*openCall, mcp.Meta, answers) error,
) (json.RawMessage, error) {
	call, err := l.open.begin(ctx, session)
	if err != nil {
		return nil, err
	}
	defer call.finish()
	var in answers
	for round, busy := 1, 0; ; round++ {
		meta := traceMeta(ctx)
		if meta == nil {
			meta = mcp.Meta{}
		}
		if call.report != nil {
			meta["progressToken"] = call.token
		}
		if level := l.u.levelOf(l); level != "" {
			meta[mcp.MetaKeyLogLevel] = level
		}
		if l.stateless() {
			meta[mcp.MetaKeyClientCapabilities] = answerable(ctx, l.u.config.Questions)
		}
		err := send(call, meta, in)
		raw := call.take()
		if err := l.needsSession(raw, err); err != nil {
			return nil, err
		}
		if raw == nil {
			if err == nil {
				err = fmt.Errorf("the result did not arrive")
			}
			return nil, err
		}
		var asks needs
		if !mayAsk(raw) || json.Unmarshal(raw, &asks) != nil || asks.ResultType != mcpwire.ResultQuestion {
			return raw, nil
		}
		if len(asks.InputRequests) == 0 {
			busy++
		}
		if round >= maxRounds || busy > maxBusy {
			return nil, tool.Errorf(tool.CodeResourceExhausted,
				"the MCP server %s asked %d times in one call", l.u.config.Name, round)
		}
		if len(asks.InputRequests) == 0 {
			select {
			case <-time.After(busyTime << busy):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		in = answers{state: asks.RequestState}
		if in.responses, err = l.answer(call, asks.InputRequests); err != nil {
			return nil, err
		}
	}
}

// mayAsk reports whether a result may be a question, whose type may be spelled with escapes.
func mayAsk(result json.RawMessage) bool {
	return bytes.Contains(result, []byte(mcpwire.ResultQuestion)) || bytes.Contains(result, []byte(`\u`))
}

// answerable is what whoever made a call can answer, as a server that asks wants to know.
func answerable(ctx context.Context, may Questions) map[string]any {
	out := map[string]any{}
	if p := mcpwire.PeerFrom(ctx); p != nil {
		if c := p.Capabilities(); c != nil {
			if c.Elicitation != nil && may.allows(askElicitation) {
				out["elicitation"] = c.Elicitation
			}
			if c.Sampling != nil && may.allows(askSampling) {
				out["sampling"] = c.Sampling
			}
			if c.RootsV2 != nil && may.allows(askRoots) {
				out["roots"] = struct{}{}
			}
		}
	} else if callctx.Get[tool.Asker](ctx, callctx.Ask{}) != nil && may.allows(askElicitation) {
		out["elicitation"] = &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}
	}
	return out
}

// traceMeta returns a new _meta with the trace that ctx belongs to; nil: none.
func traceMeta(ctx context.Context) mcp.Meta {
	trace := tool.TraceFrom(ctx)
	if trace.Parent == "" {
		return nil
	}
	meta := mcp.Meta{"traceparent": trace.Parent}
	if trace.State != "" {
		meta["tracestate"] = trace.State
	}
	return meta
}
