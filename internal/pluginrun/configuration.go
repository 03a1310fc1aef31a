package pluginrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/internal/jsontree"
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
		for _, name := range hidden(declared) {
			if before, _, found := strings.Cut(text, name); found {
				return fmt.Errorf("the configuration does not fit: %s%s (its value is sensitive, and not shown)", before, name)
			}
		}
		return fmt.Errorf("the configuration does not fit: %w", err)
	}
	return nil
}

// hidden returns the names of the members that a schema marks as writeOnly, at any depth.
func hidden(schema tool.Schema) (names []string) {
	root, _ := jsontree.Parse(schema) // it has been compiled
	jsontree.Each(root, func(name string, o *jsontree.Object) {
		if jsontree.Is(o.Get("writeOnly"), "true") {
			names = append(names, name)
		}
	})
	return names
}
