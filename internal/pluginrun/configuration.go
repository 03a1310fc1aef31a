package pluginrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/jsontree"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxShownSchema bounds the schema of a configuration that a status has, in bytes.
const maxShownSchema = 64 << 10

// maxMisfits bounds the settings that an error names.
const maxMisfits = 5

// ConfigurationError says that a plugin did not start by what the operator configured, or did not.
type ConfigurationError struct {
	error
	// Setting is the path of the first that is wrong; empty: the configuration as a whole.
	Setting string
}

// Unwrap returns what is wrong.
func (e *ConfigurationError) Unwrap() error { return e.error }

// hint says which setting of the plugin to look at.
func (e *ConfigurationError) hint(plugin string) string {
	return remedy.Setting.For(strings.TrimSuffix(plugin+".config."+e.Setting, "."))
}

// checkConfiguration checks a plugin's configuration, a JSON object or nothing, against the
// schema that the plugin declares; an empty schema takes nothing. The error names settings and the
// keywords that they break, and may quote a value, unless the schema marks it as writeOnly.
func checkConfiguration(ctx context.Context, declared tool.Schema, configuration json.RawMessage) error {
	if len(declared) == 0 {
		if len(configuration) > 0 {
			return &ConfigurationError{error: errors.New("the plugin takes no configuration: remove its config")}
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
	err = s.Check(ctx, configuration)
	v := new(schema.Violation)
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &v) || len(v.Places) == 0:
		return &ConfigurationError{error: fmt.Errorf("the configuration does not fit: %s", withoutValue(err.Error(), hidden(declared)))}
	}
	texts := misfits(v, hidden(declared))
	return &ConfigurationError{fmt.Errorf("the configuration does not fit: %s", strings.Join(texts, "; ")), v.Places[0].Path}
}

// misfits are a violation's problems, without values that are not to be shown.
func misfits(v *schema.Violation, secret []string) (texts []string) {
	for i, p := range v.Places[:min(len(v.Places), maxMisfits)] {
		steps := strings.FieldsFunc(p.Path, func(r rune) bool { return strings.ContainsRune(".[]", r) })
		switch {
		case p.Missing:
			texts = append(texts, fmt.Sprintf("%s is missing (%s)", p.Path, p.Keyword))
		case slices.ContainsFunc(steps, func(step string) bool { return slices.Contains(secret, step) }):
			texts = append(texts, fmt.Sprintf("invalid value for %s: %s (its value is sensitive, and not shown)", p.Path, p.Keyword))
		default:
			texts = append(texts, fmt.Sprintf("%s (%s)", withoutValue(v.Problems[i], secret), p.Keyword))
		}
	}
	if more := len(v.Places) - len(texts) + v.Omitted; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return texts
}

// withoutValue returns a text without what follows the name of a member that is not to be shown.
func withoutValue(text string, secret []string) string {
	for _, name := range secret {
		if before, _, found := strings.Cut(text, name); found {
			return before + name + " (its value is sensitive, and not shown)"
		}
	}
	return text
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
