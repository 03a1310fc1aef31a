package mcpserver

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolhost/toolhost/host/internal/mcpline"
)

// unbatched is the first revision of the protocol without batches of messages.
const unbatched = "2025-06-18"

// refusal is what the sender of a text is told that is neither a message nor, if the revision of the
// protocol has them, a batch; nil: it is. The SDK ends a connection there, or answers without JSON.
func refusal(text []byte, messages []jsonrpc.Message, err error, version string) []byte {
	var malformed mcpline.Malformed
	switch {
	case err != nil && !json.Valid(text):
		return errorWithoutID(jsonrpc.CodeParseError, "it is not JSON: send one JSON-RPC message, as UTF-8")
	case mcpline.FirstByte(text) == '[' && version >= unbatched:
		return errorWithoutID(jsonrpc.CodeInvalidRequest, "there are no batches from revision "+unbatched+" on: "+
			"send each message by itself")
	case errors.As(err, &malformed):
		return errorWithoutID(jsonrpc.CodeInvalidRequest, malformed.Error())
	case err != nil || slices.ContainsFunc(messages, saysNothing):
		return errorWithoutID(jsonrpc.CodeInvalidRequest,
			`it is not a JSON-RPC message: send an object with "jsonrpc": "2.0", a method and, for a request, an id`)
	}
	return nil
}

func saysNothing(m jsonrpc.Message) bool {
	r, ok := m.(*jsonrpc.Response)
	return ok && r.Result == nil && r.Error == nil
}

// errorWithoutID returns an error whose id is null, which the SDK leaves out. JSON-RPC has it so
// for messages whose own id is not known.
func errorWithoutID(code int64, text string) []byte {
	answer, err := json.Marshal(struct {
		Version string         `json:"jsonrpc"`
		ID      any            `json:"id"`
		Error   *jsonrpc.Error `json:"error"`
	}{"2.0", nil, &jsonrpc.Error{Code: code, Message: text}})
	if err != nil {
		panic("mcpserver: " + err.Error()) // this type can be encoded
	}
	return answer
}
