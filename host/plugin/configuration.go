package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// checkConfiguration checks a plugin's configuration, a JSON object or nothing, against the
// schema that the plugin declares; an empty schema takes nothing. The error may quote a
// value: secrets belong in the environment.
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
		return fmt.Errorf("the configuration does not fit: %w", err)
	}
	return nil
}
