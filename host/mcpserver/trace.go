package mcpserver

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// traceOf returns the trace that the "_meta" of a request names, or else the headers of the HTTP
// request that it came with.
func traceOf(meta map[string]any, extra *mcp.RequestExtra) (t tool.Trace) {
	t.Parent, _ = meta["traceparent"].(string)
	t.State, _ = meta["tracestate"].(string)
	if t.Parent == "" && onHTTP(extra) {
		t.Parent, t.State = extra.Header.Get("Traceparent"), extra.Header.Get("Tracestate")
	}
	return t
}
