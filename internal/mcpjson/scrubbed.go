package mcpjson

import (
	"bytes"
	"encoding/json"

	"github.com/toolhost/toolhost/internal/jsontree"
)

// Scrubbed returns JSON of a mounted server without the reserved keys of any "_meta" in it.
func Scrubbed(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte("_meta")) && !bytes.Contains(raw, []byte(`\u`)) {
		return raw
	}
	root, _ := jsontree.Parse(raw) // the SDK has read it
	dropped := false
	jsontree.Each(root, func(in string, o *jsontree.Object) {
		dropped = in == "_meta" && o.DropFunc(IsReserved) || dropped
	})
	if !dropped {
		return raw
	}
	return jsontree.Encode(root)
}
