package mcpserver

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/mcpjson"
)

// joinedMeta is the "_meta" of a result of a plugin or server, followed by what is added
// here.
type joinedMeta struct {
	passed json.RawMessage
	own    *mcp.ResultBase
}

// MarshalJSON implements [json.Marshaler].
func (m joinedMeta) MarshalJSON() ([]byte, error) {
	if len(m.own.Meta) == 0 {
		return m.passed, nil
	}
	own, err := json.Marshal(m.own.Meta)
	if err != nil {
		return nil, err
	}
	return mcpjson.EncodeObject(append(mcpjson.ObjectOf(m.passed), mcpjson.ObjectOf(own)...)), nil
}

// metaResult is a toolResult with the "_meta" of its tool, which hides the SDK's.
type metaResult struct {
	*toolResult
	Meta joinedMeta `json:"_meta"`
}

func withMeta(r *toolResult, meta json.RawMessage) mcp.Result {
	return &metaResult{r, joinedMeta{meta, &r.ResultBase}}
}
