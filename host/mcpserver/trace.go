package mcpserver

import "github.com/toolhost/toolhost/pluginsdk/tool"

const maxTrace = 512 // bytes of each part, what a receiver has to take

// traceOf returns the trace that the "_meta" of a request names.
func traceOf(meta map[string]any) (t tool.Trace) {
	t.Parent, _ = meta["traceparent"].(string)
	t.State, _ = meta["tracestate"].(string)
	if t.Parent == "" || len(t.Parent) > maxTrace {
		return tool.Trace{}
	}
	if len(t.State) > maxTrace {
		t.State = ""
	}
	return t
}
