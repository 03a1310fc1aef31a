package chain

import (
	"encoding/json"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// argumentNames returns the property names of an input schema, at any depth.
func argumentNames(s tool.Schema) map[string]bool {
	names := map[string]bool{}
	var root any
	if json.Unmarshal(s, &root) == nil {
		collectNames(root, names)
	}
	return names
}

func collectNames(v any, into map[string]bool) {
	switch v := v.(type) {
	case []any:
		for _, of := range v {
			collectNames(of, into)
		}
	case map[string]any:
		for keyword, of := range v {
			switch keyword {
			case "const", "default", "enum", "examples": // values, not schemas
				continue
			case "properties":
				if described, ok := of.(map[string]any); ok {
					for name, by := range described {
						into[name] = true
						collectNames(by, into)
					}
					continue
				}
			}
			collectNames(of, into)
		}
	}
}
