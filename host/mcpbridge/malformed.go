package mcpbridge

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// unbatched is the first revision of the protocol without batches of messages.
const unbatched = "2025-06-18"

// parse returns the messages of a text: one, or those of a batch, if the revision of the protocol
// has batches. Answer is what its sender is told if it is neither; the SDK ends a connection
// there, or answers without JSON.
func parse(text []byte, version string) (messages []jsonrpc.Message, answer []byte) {
	if !json.Valid(text) {
		return nil, errorWithoutID(jsonrpc.CodeParseError, "it is not JSON: send one JSON-RPC message, as UTF-8")
	}
	batch := []json.RawMessage{text}
	if firstByte(text) == '[' {
		if version >= unbatched {
			return nil, errorWithoutID(jsonrpc.CodeInvalidRequest, "there are no batches from revision "+unbatched+" on: "+
				"send each message by itself")
		}
		batch = nil // else it is read into the text
		if json.Unmarshal(text, &batch) != nil || len(batch) == 0 {
			return nil, errorWithoutID(jsonrpc.CodeInvalidRequest, "the batch is empty")
		}
	}
	for _, one := range batch {
		m, err := decodeMessage(one)
		if r, ok := m.(*jsonrpc.Response); err != nil || ok && r.Result == nil && r.Error == nil {
			return nil, errorWithoutID(jsonrpc.CodeInvalidRequest,
				`it is not a JSON-RPC message: send an object with "jsonrpc": "2.0", a method and, for a request, an id`)
		}
		messages = append(messages, m)
	}
	return messages, nil
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
		panic("mcpbridge: " + err.Error()) // this type can be encoded
	}
	return answer
}
