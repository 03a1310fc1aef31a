package mcpwire

import "github.com/modelcontextprotocol/go-sdk/jsonrpc"

// Names of the protocol for which the SDK has none.
const (
	MethodCall     = "tools/call"
	ResultQuestion = "input_required" // the type of a result that asks, from revision 2026-07-28 on
	ModeURL        = "url"            // of a question that a page asks
)

// InvalidRequest is the error of a request that cannot be answered now.
func InvalidRequest(text string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: text}
}
