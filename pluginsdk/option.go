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

// Option says one more thing of a tool. Order does not matter.
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

// Safe says that the tool only looks.
func Safe() Option { return set(func(d *tool.Definition) { d.Safety = tool.Safe }) }

// Cautious says that what the tool does can be undone, or is what the caller
// brought.
func Cautious() Option { return set(func(d *tool.Definition) { d.Safety = tool.Cautious }) }

// Dangerous says that the tool destroys, sends or spends. It is the default.
func Dangerous() Option { return set(func(d *tool.Definition) { d.Safety = tool.Dangerous }) }

// Title is the tool's name for people. Default: its name.
func Title(s string) Option { return set(func(d *tool.Definition) { d.Title = s }) }

// Categories are words to find the tool by.
func Categories(names ...string) Option {
	return set(func(d *tool.Definition) { d.Categories = append(d.Categories, names...) })
}

// Permission is the capability that a caller must hold. Default: none.
func Permission(c tool.Capability) Option { return set(func(d *tool.Definition) { d.Permission = c }) }

// Idempotent says that a call may be repeated with no further effect, so that
// a host may retry it up to so many times, at most [tool.MaxRetryLimit], when
// the plugin dies in the middle.
func Idempotent(retries int) Option {
	return set(func(d *tool.Definition) { d.Idempotent, d.MaxRetries = true, retries })
}

// Timeout bounds one attempt. Default: the host's.
func Timeout(t time.Duration) Option {
	return set(func(d *tool.Definition) { d.Timeout = tool.Duration(t) })
}

// RateLimit bounds each caller to so many calls in each period. Default: none.
func RateLimit(calls int, period time.Duration) Option {
	return set(func(d *tool.Definition) {
		d.RateLimit = &tool.RateLimit{Calls: calls, Period: tool.Duration(period)}
	})
}

// Sensitive names arguments that must not be written to a log.
func Sensitive(arguments ...string) Option {
	return set(func(d *tool.Definition) { d.Sensitive = append(d.Sensitive, arguments...) })
}

// Preview tells what a call would do, without doing it: whoever is asked to approve
// a call is shown what fn answers, such as a unified diff. In is that of the tool's
// function. fn must change nothing; it may run for calls that are never made.
//
// An error, or a result with IsError, says that the call itself would fail.
func Preview[In any](fn func(context.Context, In) (tool.Result, error)) Option {
	return func(d *draft) error {
		if in := reflect.TypeFor[In](); in != d.in {
			return fmt.Errorf("Preview takes %v, and the tool's function %v", in, d.in)
		}
		d.preview = handler(d.Name, fn)
		return nil
	}
}

// Argument adds JSON Schema keywords to one argument, as the JSON text of an
// object; what is there already is kept unless named again. A path with dots
// reaches into objects:
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
		return fmt.Errorf("the keywords are no JSON object: %w", err)
	}
	if named == nil {
		return errors.New("the keywords are null, not a JSON object")
	}
	if _, ok := named["type"]; ok { // the library keeps one type and several apart
		s.Type, s.Types = "", nil
	}
	unknown := s.Extra // the library starts these anew
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
