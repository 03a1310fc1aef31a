package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/internal/mcpline"
	"github.com/toolhost/toolhost/host/internal/mcpwire"
)

// The SDK decodes the parameters of each request twice, and each time makes a buffer of 32 KiB. A call of a tool on
// standard input is therefore decoded here, and passes the SDK as a request without parameters.

// methodDecoded is the method of a call whose parameters are decoded. Clients cannot call it.
const methodDecoded = "toolhost/decoded"

// decodedParams are the parameters of such a request, which has none.
type decodedParams struct{ mcp.ParamsBase }

// decode returns a request in place of one that calls a tool, if the SDK would only decode its parameters: they are an
// object that fits, and do not name a revision of the protocol.
func decode(r *jsonrpc.Request) *jsonrpc.Request {
	p := &mcp.CallToolParamsRaw{}
	if r.Method != mcpwire.MethodCall || !r.IsCall() || mcpline.FirstByte(r.Params) != '{' ||
		mcpline.Unmarshal(r.Params, p) != nil || p.Meta[mcp.MetaKeyProtocolVersion] != nil {
		return r
	}
	extra := &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{Extra: map[string]any{methodDecoded: p}}}
	return &jsonrpc.Request{ID: r.ID, Method: methodDecoded, Extra: extra}
}

// serveDecoded has the SDK take the method, whose requests receive answers.
func (s *Server) serveDecoded() {
	// The error is that of a method of the protocol.
	_ = mcp.AddReceivingCustomMethod(s.mcp, methodDecoded, func(context.Context, *mcp.ServerSession, *decodedParams) (*doneResult, error) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found: \"" + methodDecoded + "\""}
	})
}

// decodedCall returns the request that was decoded; nil: the client has sent the method itself.
func decodedCall(r *mcp.ServerRequest[*decodedParams]) *mcp.CallToolRequest {
	if r.Extra == nil || r.Extra.TokenInfo == nil {
		return nil
	}
	p, _ := r.Extra.TokenInfo.Extra[methodDecoded].(*mcp.CallToolParamsRaw)
	if p == nil {
		return nil
	}
	return &mcp.CallToolRequest{Session: r.Session, Params: p}
}
