package config

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/toolhost/toolhost/internal/schema"
)

// CheckPluginConfig judges what the file says under plugins.NAME.config against the
// schema that the plugin declares; an empty schema declares that there is no
// configuration. A plugin for which the file says nothing gets {}.
//
// # Errors
//
// [*Error] with each problem, at the line where the plugin's configuration begins;
// the same where the schema itself is no schema, which is the plugin's fault.
func (c *Config) CheckPluginConfig(name string, declared json.RawMessage) error {
	config := c.Plugin(name).Config
	key := below(below("plugins", name), "config")
	f := &findings{src: c.src()}
	at, there := c.places[key]
	if !there {
		at = c.places[below("plugins", name)]
	}
	if len(declared) == 0 {
		if len(config) > 0 {
			f.addWithin(at, key, "remove it", "the plugin takes no configuration")
		}
		return f.err()
	}
	s, err := schema.CompileOutput(declared)
	if err != nil {
		f.addWithin(at, key, "tell the plugin's author", "the schema that the plugin declares for it cannot be used: "+err.Error())
		return f.err()
	}
	err = s.Check(context.Background(), config)
	var violation *schema.Violation
	switch {
	case err == nil:
		return nil
	case errors.As(err, &violation):
		for _, problem := range violation.Problems {
			f.addWithin(at, key, "", problem)
		}
	default:
		f.addWithin(at, key, "", err.Error())
	}
	return f.err()
}

func (f *findings) addWithin(at place, key, hint, message string) {
	f.add(at, key, hint, "%s", message)
}
