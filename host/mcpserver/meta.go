package mcpserver

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/mcpjson"
)

// toldMeta is the "_meta" of a result that a plugin or server has told, followed by what is said
// here.
type toldMeta struct {
	told json.RawMessage
	said *mcp.ResultBase
}

// MarshalJSON implements [json.Marshaler].
func (m toldMeta) MarshalJSON() ([]byte, error) {
	if len(m.said.Meta) == 0 {
		return m.told, nil
	}
	said, err := json.Marshal(m.said.Meta)
	if err != nil {
		return nil, err
	}
	return mcpjson.EncodeObject(append(mcpjson.ObjectOf(m.told), mcpjson.ObjectOf(said)...)), nil
}

// toldResult is a toolResult with a "_meta" that was told. It hides that of the SDK.
type toldResult struct {
	*toolResult
	Meta toldMeta `json:"_meta"`
}

func told(r *toolResult, meta json.RawMessage) mcp.Result {
	return &toldResult{r, toldMeta{meta, &r.ResultBase}}
}
