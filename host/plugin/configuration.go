package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// CheckConfiguration judges what an operator configured for a plugin, a JSON object or
// nothing, by the schema that the plugin declares; an empty one takes nothing. The
// error may quote a value: what is secret belongs into the environment.
func checkConfiguration(ctx context.Context, declared tool.Schema, configuration json.RawMessage) error {
	if len(declared) == 0 {
		if len(configuration) > 0 {
			return errors.New("it takes no configuration, and there is some for it: remove its config")
		}
		return nil
	}
	s, err := schema.CompileInput(declared)
	if err != nil {
		return fmt.Errorf("the schema that it declares for its configuration is not usable: %w", err)
	}
	if len(configuration) == 0 {
		configuration = json.RawMessage("{}")
	}
	if err := s.Check(ctx, configuration); err != nil {
		return fmt.Errorf("its configuration does not fit: %w", err)
	}
	return nil
}
