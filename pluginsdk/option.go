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

// Option sets one more property of a tool. The order of options does not matter.
type Option func(*draft) error

// draft is a definition whose schemas can still be worked on.
type draft struct {
	*tool.Definition
	in            reflect.Type
	input, output *jsonschema.Schema
	preview       tool.Handler
}

func set(f func(*tool.Definition)) Option {
	return func(d *draft) error {
		f(d.Definition)
		return nil
	}
}

// Safe declares that the tool only reads.
func Safe() Option { return set(func(d *tool.Definition) { d.Safety = tool.Safe }) }

// Cautious declares that the tool changes what can be changed back, or runs what the
// caller supplies.
func Cautious() Option { return set(func(d *tool.Definition) { d.Safety = tool.Cautious }) }

// Dangerous declares that the tool destroys, sends or spends something. It is the
// default, and each call needs approval.
func Dangerous() Option { return set(func(d *tool.Definition) { d.Safety = tool.Dangerous }) }

// Title sets the name that people are shown. Default: the tool's name.
func Title(s string) Option { return set(func(d *tool.Definition) { d.Title = s }) }

// Categories adds words to find the tool by.
func Categories(names ...string) Option {
	return set(func(d *tool.Definition) { d.Categories = append(d.Categories, names...) })
}

// Permission sets the capability that a caller must hold. Default: none.
func Permission(c tool.Capability) Option { return set(func(d *tool.Definition) { d.Permission = c }) }

// Idempotent declares that repeating a call has no further effect. A host may then
// retry a call up to so many times, at most [tool.MaxRetryLimit], if the plugin dies
// while it runs.
func Idempotent(retries int) Option {
	return set(func(d *tool.Definition) { d.Idempotent, d.MaxRetries = true, retries })
}

// Timeout sets the time limit of one attempt. Default: the host's.
func Timeout(t time.Duration) Option {
	return set(func(d *tool.Definition) { d.Timeout = tool.Duration(t) })
}

// RateLimit allows each caller so many calls per period. Default: no limit.
func RateLimit(calls int, period time.Duration) Option {
	return set(func(d *tool.Definition) {
		d.RateLimit = &tool.RateLimit{Calls: calls, Period: tool.Duration(period)}
	})
}

// Sensitive names arguments that logs must redact.
func Sensitive(arguments ...string) Option {
	return set(func(d *tool.Definition) { d.Sensitive = append(d.Sensitive, arguments...) })
}

// Preview sets a function that reports what a call would do, without doing it. The
// person who is asked to approve a call sees its result, such as a unified diff. In
// must be that of the tool's function. fn must not change anything, and may run for
// calls that are never made.
//
// An error, or a result with IsError, means that the call itself would fail.
func Preview[In any](fn func(context.Context, In) (tool.Result, error)) Option {
	return func(d *draft) error {
		if in := reflect.TypeFor[In](); in != d.in {
			return fmt.Errorf("Preview takes %v, and the tool's function %v", in, d.in)
		}
		d.preview = handler(d.Name, fn)
		return nil
	}
}

// Argument adds JSON Schema keywords, the JSON text of an object, to the schema of one
// argument. They replace keywords of the same name. A path with dots reaches into
// objects:
//
//	pluginsdk.Argument("path", `{"pattern": "^[^/].*$"}`)
func Argument(path, keywords string) Option {
	return func(d *draft) error {
		s := d.input
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
	if _, ok := named["type"]; ok { // the library keeps one type and several apart
		s.Type, s.Types = "", nil
	}
	unknown := s.Extra // the library starts these again
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
