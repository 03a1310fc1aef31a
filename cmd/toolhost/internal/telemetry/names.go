package telemetry

// The names of attributes. Those of the GenAI and MCP conventions
// (https://github.com/open-telemetry/semantic-conventions-genai) may still change, so all are here.
const (
	operationName = "gen_ai.operation.name"
	toolName      = "gen_ai.tool.name"
	toolCallID    = "gen_ai.tool.call.id"
	toolArguments = "gen_ai.tool.call.arguments"
	toolResult    = "gen_ai.tool.call.result"
	mcpMethod     = "mcp.method.name"
	errorType     = "error.type"

	caller   = "toolhost.caller"
	account  = "toolhost.account"
	via      = "toolhost.via"
	client   = "toolhost.client"
	session  = "toolhost.session"
	plugin   = "toolhost.plugin"
	safety   = "toolhost.safety"
	decision = "toolhost.decision"
	approver = "toolhost.approver"
	attempts = "toolhost.attempts"
	bytesIn  = "toolhost.bytes_in"
	bytesOut = "toolhost.bytes_out"

	executeTool = "execute_tool"
	callTool    = "tools/call"
	toolError   = "tool_error" // of a tool's own failure
)
