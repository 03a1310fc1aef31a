package mcpclient

import (
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/internal/mcpline"
	"github.com/toolhost/toolhost/internal/mcpjson"
)

// The SDK hands a question on decoded, without the order of a form's fields and without the call on
// whose stream it came. It does hand on the "_meta".

// origin says of a question how it came.
type origin struct {
	Call *int64 `json:"call,omitempty"` // on whose stream; nil: unknown
	Form string `json:"form,omitempty"` // the schema as it was sent, whose fields have an order
}

// originKey is the member of a question's "_meta" that has its origin, between here and the SDK.
const originKey = "toolhost/origin"

// withOrigin returns a question with its origin.
func withOrigin(call *openCall, m *jsonrpc.Request) *jsonrpc.Request {
	params := mcpjson.Present(m.Params)
	members := mcpjson.ObjectOf(params)
	if params != nil && members == nil && mcpline.FirstByte(params) != '{' {
		return m // the SDK refuses it
	}
	var from origin
	if call != nil {
		from.Call = &call.token
	}
	var meta []mcpjson.Member
	members = slices.DeleteFunc(members, func(one mcpjson.Member) bool {
		switch one.Key {
		case "requestedSchema":
			from.Form = string(mcpjson.Present(one.Value))
		case "_meta":
			meta = mcpjson.ObjectOf(one.Value)
			return true
		}
		return false
	})
	value, err := json.Marshal(from)
	if err != nil {
		return m
	}
	meta = append(meta, mcpjson.Member{Key: originKey, Value: value}) // the last one counts
	out := *m
	out.Params = mcpjson.EncodeObject(append(members, mcpjson.Member{Key: "_meta", Value: mcpjson.EncodeObject(meta)}))
	return &out
}

// takeOrigin returns the origin of a question, which is in it no more.
func takeOrigin(meta mcp.Meta) (from origin) {
	if value, err := json.Marshal(meta[originKey]); err == nil {
		_ = json.Unmarshal(value, &from)
	}
	delete(meta, originKey)
	return from
}
