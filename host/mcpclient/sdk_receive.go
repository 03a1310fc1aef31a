package mcpclient

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/internal/mcpjson"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// receive takes each message of the server in its order, and returns what the SDK gets of it; nil:
// nothing. A request or notification is of the call on whose stream it came; nil: unknown. It
// returns an error if the connection has ended.
func (l *link) receive(call *openCall, msg jsonrpc.Message) (jsonrpc.Message, error) {
	switch m := msg.(type) {
	case *jsonrpc.Response:
		return call.keep(m), nil
	case *jsonrpc.Request:
		if err := l.wait(m.IsCall()); err != nil {
			return nil, err
		}
		switch m.Method {
		case "notifications/progress":
			l.progressed(m.Params)
			return nil, nil //nolint:nilnil // the SDK does not need it
		case "notifications/message":
			l.logged(call, m.Params)
			return nil, nil //nolint:nilnil // the SDK does not need it
		case "elicitation/create", "sampling/createMessage", "roots/list":
			return withOrigin(call, m), nil
		}
	}
	return msg, nil
}

// emptyResult is what the SDK decodes in place of the result of a tool, which is read from what
// the server sent.
var emptyResult = json.RawMessage(`{"content":[]}`)

// wait returns when another message of the server may come.
func (l *link) wait(request bool) error {
	n := 1
	if request {
		n = requestCost
	}
	return l.pace.WaitN(l.life, n)
}

// progressed passes on the progress of a call.
func (l *link) progressed(params json.RawMessage) {
	var p struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress float64         `json:"progress"`
		Total    float64         `json:"total"`
		Message  string          `json:"message"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	if c := l.open.of(p.Token); c != nil {
		c.progress(tool.Progress{Done: p.Progress, Total: p.Total, Message: sanitize.Line(p.Message, maxNote)})
	}
}

// Bounds of what is said during a call, in bytes.
const (
	maxNote    = 4 << 10 // a line of progress or log
	maxLogData = 8 << 10 // what a client is sent of a line of a log as it is
)

// logged passes on a line of the server's log.
func (l *link) logged(call *openCall, params json.RawMessage) {
	var p mcp.LoggingMessageParams
	if json.Unmarshal(params, &p) != nil {
		return
	}
	text, ok := p.Data.(string)
	if !ok {
		b, _ := json.Marshal(p.Data)
		text = string(b)
	}
	if p.Logger != "" {
		text = p.Logger + ": " + text
	}
	text = sanitize.Line(text, maxNote)
	if l.to.Log != nil {
		l.to.Log(mcpjson.Level(p.Level), text)
	}
	if len(params) > maxLogData { // clients are kept what they have not read
		p = mcp.LoggingMessageParams{Level: p.Level, Data: text}
	}
	if call == nil {
		call, _ = l.open.only()
	}
	if call == nil {
		return
	}
	if to := mcpwire.PeerFrom(call.ctx); to != nil {
		to.Log(call.ctx, &p)
	}
}

// uncache keeps the SDK from answering the next request from this result, or from holding
// it: what is listed and read is what the server has now, and a server has no bound to the
// resources that it lets read.
func uncache(result mcp.Result) {
	switch r := result.(type) {
	case *mcp.ListToolsResult:
		r.TTLMs = 0
	case *mcp.ListPromptsResult:
		*r = mcp.ListPromptsResult{}
	case *mcp.ListResourcesResult:
		*r = mcp.ListResourcesResult{}
	case *mcp.ListResourceTemplatesResult:
		*r = mcp.ListResourceTemplatesResult{}
	case *mcp.ReadResourceResult:
		*r = mcp.ReadResourceResult{}
	}
}
