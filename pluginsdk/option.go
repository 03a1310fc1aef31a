package pluginsdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Option sets a property of a tool that [Func] makes. The order of options matters only
// if two of them set the same property: the later one wins.
type Option func(*builder) error

// builder is a definition under construction.
type builder struct {
	*tool.Definition
	in            reflect.Type // of the arguments
	input, output *jsonschema.Schema
	defaults      *defaults // of the input, once all options are set
	preview       tool.Handler
}

func set(f func(*tool.Definition)) Option {
	return func(b *builder) error {
		f(b.Definition)
		return nil
	}
}

// Safe declares that the tool only reads.
func Safe() Option { return set(func(d *tool.Definition) { d.Safety = tool.Safe }) }

// Cautious declares that the tool makes changes that can be undone, or runs code that the
// caller supplies.
func Cautious() Option { return set(func(d *tool.Definition) { d.Safety = tool.Cautious }) }

// Dangerous declares that the tool destroys, sends or spends something. Each call needs
// approval. This is the default.
func Dangerous() Option { return set(func(d *tool.Definition) { d.Safety = tool.Dangerous }) }

// Title sets the name that is shown to people. Default: the tool's name.
func Title(s string) Option { return set(func(d *tool.Definition) { d.Title = s }) }

// Categories adds categories for finding the tool: at most 64, each
// [A-Za-z0-9_.:-]{1,64}. Default: none.
func Categories(names ...string) Option {
	return set(func(d *tool.Definition) { d.Categories = append(d.Categories, names...) })
}

// Permission sets the capability that a caller must hold, such as [tool.FSRead].
// Default: none.
func Permission(c tool.Capability) Option { return set(func(d *tool.Definition) { d.Permission = c }) }

// Idempotent declares that repeating a call has no further effect, and sets how often a
// host may retry a call if the plugin dies, or does not answer in time, while running it: 0 to 10. An
// error that the plugin answers with is not retried.
// Default: not idempotent, no retries.
func Idempotent(retries int) Option {
	return set(func(d *tool.Definition) { d.Idempotent, d.MaxRetries = true, retries })
}

// Timeout sets the time limit of one attempt. Zero, the default, means the host's limit.
func Timeout(t time.Duration) Option {
	return set(func(d *tool.Definition) { d.Timeout = tool.Duration(t) })
}

// RateLimit sets how many calls each caller may make per period; both must be above
// zero. Default: no limit.
func RateLimit(calls int, period time.Duration) Option {
	return set(func(d *tool.Definition) {
		d.RateLimit = &tool.RateLimit{Calls: calls, Period: tool.Duration(period)}
	})
}

// Sensitive names arguments whose values logs must redact, wherever in the arguments the
// name occurs, as the tag sensitive:"true" does. Default: none.
func Sensitive(arguments ...string) Option {
	return set(func(d *tool.Definition) { d.Sensitive = append(d.Sensitive, arguments...) })
}

// Icons sets what MCP clients show of the tool, see [tool.Definition]. Default: none.
func Icons(list json.RawMessage) Option {
	return set(func(d *tool.Definition) { d.Icons = list })
}

// Meta sets the tool's "_meta" for MCP clients, see [tool.Definition]. Default: none.
func Meta(object json.RawMessage) Option {
	return set(func(d *tool.Definition) { d.Meta = object })
}

// Preview sets a function that reports what a call would do, without doing it. The
// approver of the call sees the result, such as a unified diff. In must be the same type
// as in [Func]. fn must not change anything, and may run for calls that are never made.
// Default: no preview.
//
// An error, or a result with IsError, means that the call itself would fail.
func Preview[In any](fn func(context.Context, In) (tool.Result, error)) Option {
	return func(b *builder) error {
		if in := reflect.TypeFor[In](); in != b.in {
			return fmt.Errorf("Preview takes %v, but the tool's function takes %v", in, b.in)
		}
		b.preview = handler(b.Name, b.defaults, fn)
		return nil
	}
}

// Argument adds JSON Schema keywords to the schema of one argument, for those that have no struct
// tag (see [Func]) and for values that are not constants. The keywords are the JSON text of an
// object, and replace keywords of the same name; a default makes the argument optional. The path is the
// name of the argument; dots lead into nested objects:
//
//	pluginsdk.Argument("filter.path", `{"pattern": "^[^/].*$", "errorMessage": "paths are relative"}`)
//
// A model reads the text of "errorMessage" if a value breaks one of the keywords next to it,
// other than "type". It may also be an object with texts by keyword.
func Argument(path, keywords string) Option {
	return func(b *builder) error {
		s := b.input
		for name := range strings.SplitSeq(path, ".") {
			next := s.Properties[name]
			if next == nil {
				return fmt.Errorf("Argument(%q): there is no argument %q", path, name)
			}
			s = next
		}
		if err := addKeywords(s, keywords); err != nil {
			return fmt.Errorf("Argument(%q): %w", path, err)
		}
		return nil
	}
}

func addKeywords(s *jsonschema.Schema, keywords string) error {
	var named map[string]json.RawMessage
	if err := json.Unmarshal([]byte(keywords), &named); err != nil {
		return fmt.Errorf("the keywords are not a JSON object: %w", err)
	}
	if named == nil {
		return errors.New("the keywords are null, not a JSON object")
	}
	if _, ok := named["type"]; ok { // the library has one field for a single type and one for several
		s.Type, s.Types = "", nil
	}
	unknown := s.Extra // Unmarshal replaces the map
	if err := json.Unmarshal([]byte(keywords), s); err != nil {
		return err
	}
	for k, v := range unknown {
		if _, ok := s.Extra[k]; !ok {
			if s.Extra == nil {
				s.Extra = map[string]any{}
			}
			s.Extra[k] = v
		}
	}
	return nil
}
