package pluginsdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Configurator takes the configuration of a plugin as a Go type. [Configuration] makes one; the
// zero value takes none.
type Configurator struct {
	schema    tool.Schema
	configure func(context.Context, Config) error
}

// Configuration returns what configures a plugin with a value of type T, for
// [Plugin.Configuration]. T is a struct whose fields are the settings; the tags are those of
// [Func], and the options [Argument] and [Sensitive] are for settings too. fn runs once, before the
// first call, with the defaults filled in, also if nothing is configured. If it returns an error, the host
// shows that to the operator and does not use the plugin.
//
//	type settings struct {
//		Region string        `json:"region" enum:"eu,us" default:"eu"`
//		Wait   tool.Duration `json:"wait" jsonschema:"how long to wait for an answer" default:"10s"`
//		Token  string        `json:"token,omitempty" sensitive:"true"`
//	}
//
// The operator writes the settings under plugins.NAME.config in toolhost.yaml. The host checks them
// before fn runs and says which is wrong; the values of sensitive ones are not shown in that.
//
// Configuration panics if T or a tag does not fit, as [Func] does.
func Configuration[T any](fn func(context.Context, Config, T) error, opts ...Option) Configurator {
	schema, d, err := settingsOf(reflect.TypeFor[T](), opts)
	if err != nil {
		panic(fmt.Sprintf("pluginsdk.Configuration[%s]: %v", reflect.TypeFor[T](), err))
	}
	text, err := json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("pluginsdk.Configuration[%s]: %v", reflect.TypeFor[T](), err))
	}
	hidden := takeSensitive(schema)
	return Configurator{text, func(ctx context.Context, c Config) error {
		settings, err := unmarshal[T](d.fill(c.JSON))
		if err != nil {
			return errors.New("the configuration does not fit: " + withoutValue(err.Error(), hidden))
		}
		return fn(ctx, c, settings)
	}}
}

// Schema returns the JSON Schema of the configuration; empty: none is taken.
func (c Configurator) Schema() tool.Schema { return slices.Clone(c.schema) }

// Configure hands a configuration over as a host does, for tests of plugins. It does not check
// the schema.
func (c Configurator) Configure(ctx context.Context, config Config) error {
	if c.configure == nil {
		return nil
	}
	return c.configure(ctx, config)
}

// settingsOf returns the schema of a configuration, and its defaults.
func settingsOf(t reflect.Type, opts []Option) (*jsonschema.Schema, defaults, error) {
	s, err := inferInput(t)
	if err != nil {
		return nil, defaults{}, errors.New(strings.Replace(err.Error(), "the arguments", "the configuration", 1))
	}
	b := &builder{Definition: new(tool.Definition), in: t, input: s, defaults: new(defaults)}
	for _, opt := range opts {
		if err := opt(b); err != nil {
			return nil, defaults{}, err
		}
	}
	markSensitive(s, b.Sensitive)
	d, err := setDefaults(s)
	return s, d, err
}

// markSensitive marks the members of these names, at any depth.
func markSensitive(s *jsonschema.Schema, names []string) {
	if s == nil || len(names) == 0 {
		return
	}
	for name, p := range s.Properties {
		p.WriteOnly = p.WriteOnly || slices.Contains(names, name)
		markSensitive(p, names)
	}
	for _, d := range s.Defs {
		markSensitive(d, names)
	}
	markSensitive(s.Items, names)
	markSensitive(s.AdditionalProperties, names)
}

// withoutValue returns an error's text without what follows the name of a sensitive setting.
func withoutValue(text string, hidden []string) string {
	for _, name := range hidden {
		if before, _, found := strings.Cut(text, name); found {
			return before + name + " (its value is sensitive, and not shown)"
		}
	}
	return text
}
