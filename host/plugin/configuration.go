package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxShownSchema bounds the schema of a configuration that a status has, in bytes.
const maxShownSchema = 64 << 10

// checkConfiguration checks a plugin's configuration, a JSON object or nothing, against the
// schema that the plugin declares; an empty schema takes nothing. The error may quote a
// value, unless the schema marks it as writeOnly.
func checkConfiguration(ctx context.Context, declared tool.Schema, configuration json.RawMessage) error {
	if len(declared) == 0 {
		if len(configuration) > 0 {
			return errors.New("the plugin takes no configuration: remove its config")
		}
		return nil
	}
	s, err := schema.CompileInput(declared)
	if err != nil {
		return fmt.Errorf("the schema that the plugin declares for its configuration is not usable: %w", err)
	}
	if len(configuration) == 0 {
		configuration = json.RawMessage("{}")
	}
	if err := s.Check(ctx, configuration); err != nil {
		text := err.Error()
		for name := range hidden(declared) {
			if before, _, found := strings.Cut(text, name); found {
				return fmt.Errorf("the configuration does not fit: %s%s (its value is sensitive, and not shown)", before, name)
			}
		}
		return fmt.Errorf("the configuration does not fit: %w", err)
	}
	return nil
}

// hidden returns the names of the members that a schema marks as writeOnly, at any depth.
func hidden(schema tool.Schema) iter.Seq[string] {
	var root any
	_ = json.Unmarshal(schema, &root) // it has been compiled
	return func(yield func(string) bool) { eachHidden(root, yield) }
}

func eachHidden(v any, yield func(string) bool) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, below := range v {
			if o, ok := below.(map[string]any); ok && o["writeOnly"] == true && !yield(name) || !eachHidden(below, yield) {
				return false
			}
		}
	case []any:
		for _, below := range v {
			if !eachHidden(below, yield) {
				return false
			}
		}
	}
	return true
}
