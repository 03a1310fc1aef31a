package mcpjson

import (
	"encoding/json"
	"strings"

	"github.com/toolhost/toolhost/internal/ident"
)

// Present returns a member of an object; nil: it is not there, or null.
func Present(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// Name returns a name with _ in place of what tools' names do not have, cut to their length.
func Name(name string) string {
	out := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_.-", r) {
			return r
		}
		return '_'
	}, name)
	return out[:min(len(out), ident.MaxTool)]
}
