package mcpjson

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Safety returns the safety level that a tool's annotations suggest. They are the server's word, and the defaults are the specification's: a tool
// that says nothing may destroy.
//
//   - it says that it only reads: safe, or cautious if it also says that it deals with an open
//     world, to which what it reads could be sent;
//   - it says that it destroys nothing: cautious;
//   - anything else: dangerous.
func Safety(a *mcp.ToolAnnotations) tool.Safety {
	switch {
	case a == nil:
		return tool.Dangerous
	case a.ReadOnlyHint && a.OpenWorldHint != nil && *a.OpenWorldHint:
		return tool.Cautious
	case a.ReadOnlyHint:
		return tool.Safe
	case a.DestructiveHint != nil && !*a.DestructiveHint:
		return tool.Cautious
	}
	return tool.Dangerous
}
