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
	root, err := jsontree.Parse(raw)
	if err != nil || !jsontree.Prune(root, func(in, name string) bool { return in == "_meta" && IsReserved(name) }) {
		return raw // the SDK has read it
	}
	return jsontree.Encode(root)
}
