package mcpjson

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// Hidden finds the first hidden character in the texts of a JSON value, keys too: see
// [sanitize.Hidden]. A newline may be written as \r\n.
func Hidden(value json.RawMessage) (r rune, found bool) {
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if err != nil {
			return 0, false
		}
		if text, ok := token.(string); ok {
			if r, found := sanitize.Hidden(strings.ReplaceAll(text, "\r\n", "\n")); found {
				return r, true
			}
		}
	}
}
