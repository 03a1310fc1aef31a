package pluginsdk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type inner struct {
	Path string  `json:"path" jsonschema:"Where."`
	Mode *string `json:"mode"`
}

type outer struct {
	Name  string  `json:"name"`
	Count int8    `json:"count"`
	Inner inner   `json:"inner"`
	Maybe *inner  `json:"maybe,omitempty"`
	Any   any     `json:"any"`
	List  []inner `json:"list"`
}

func with(opts ...pluginsdk.Option) tool.Definition {
	return pluginsdk.Func("t", "Does.", func(context.Context, outer) (string, error) { return "", nil }, opts...).Definition
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts []pluginsdk.Option
		set  func(*tool.Definition)
	}{
		"none":       {nil, func(*tool.Definition) {}},
		"safe":       {[]pluginsdk.Option{pluginsdk.Safe()}, func(d *tool.Definition) { d.Safety = tool.Safe }},
		"cautious":   {[]pluginsdk.Option{pluginsdk.Cautious()}, func(d *tool.Definition) { d.Safety = tool.Cautious }},
		"dangerous":  {[]pluginsdk.Option{pluginsdk.Dangerous()}, func(d *tool.Definition) { d.Safety = tool.Dangerous }},
		"title":      {[]pluginsdk.Option{pluginsdk.Title("T")}, func(d *tool.Definition) { d.Title = "T" }},
		"permission": {[]pluginsdk.Option{pluginsdk.Permission(tool.Net)}, func(d *tool.Definition) { d.Permission = tool.Net }},
		"categories": {
			[]pluginsdk.Option{pluginsdk.Categories("a", "b"), pluginsdk.Categories("c")},
			func(d *tool.Definition) { d.Categories = []string{"a", "b", "c"} },
		},
		"idempotent": {
			[]pluginsdk.Option{pluginsdk.Idempotent(3)},
			func(d *tool.Definition) { d.Idempotent, d.MaxRetries = true, 3 },
		},
		"timeout": {
			[]pluginsdk.Option{pluginsdk.Timeout(time.Minute)},
			func(d *tool.Definition) { d.Timeout = tool.Duration(time.Minute) },
		},
		"rate limit": {
			[]pluginsdk.Option{pluginsdk.RateLimit(5, time.Second)},
			func(d *tool.Definition) { d.RateLimit = &tool.RateLimit{Calls: 5, Period: tool.Duration(time.Second)} },
		},
		"sensitive": {
			[]pluginsdk.Option{pluginsdk.Sensitive("a"), pluginsdk.Sensitive("b", "c")},
			func(d *tool.Definition) { d.Sensitive = []string{"a", "b", "c"} },
		},
		"shown": {
			[]pluginsdk.Option{pluginsdk.Icons([]byte(`[{"src":"https://a"}]`)), pluginsdk.Meta([]byte(`{"a":1}`))},
			func(d *tool.Definition) { d.Icons, d.Meta = []byte(`[{"src":"https://a"}]`), []byte(`{"a":1}`) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, want := with(c.opts...), with()
			c.set(&want)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
	if s := with().Safety; s.Effective() != tool.Dangerous {
		t.Errorf("a tool without a safety level is %v", s.Effective())
	}
}

// at returns the schema at a path of keys.
func at(t *testing.T, d tool.Definition, path ...string) string {
	t.Helper()
	if _, err := jsonschema.CompileString("schema.json", string(d.InputSchema)); err != nil {
		t.Fatalf("%v\n%s", err, d.InputSchema)
	}
	raw := d.InputSchema
	for _, key := range path {
		var m map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(raw, &m))
		raw = m[key]
	}
	return string(raw)
}

func TestArgument(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts []pluginsdk.Option
		path string // to the schema, with dots
		want string
	}{
		"added": {
			[]pluginsdk.Option{pluginsdk.Argument("name", `{"minLength":1,"pattern":"^a"}`)},
			"properties.name", `{"type":"string","minLength":1,"pattern":"^a"}`,
		},
		"what is there is kept": {
			[]pluginsdk.Option{pluginsdk.Argument("count", `{"minimum":0}`)},
			"properties.count", `{"type":"integer","minimum":0,"maximum":127}`,
		},
		"nested": {
			[]pluginsdk.Option{pluginsdk.Argument("inner.path", `{"maxLength":9}`)},
			"properties.inner.properties.path", `{"type":"string","description":"Where.","maxLength":9}`,
		},
		"nested in a pointer": {
			[]pluginsdk.Option{pluginsdk.Argument("maybe.path", `{"description":"There."}`)},
			"properties.maybe.properties.path", `{"type":"string","description":"There."}`,
		},
		"only that one": {
			[]pluginsdk.Option{pluginsdk.Argument("maybe.path", `{"description":"There."}`)},
			"properties.inner.properties.path", `{"type":"string","description":"Where."}`,
		},
		"of any": {
			[]pluginsdk.Option{pluginsdk.Argument("any", `{"enum":["a",1,null]}`)},
			"properties.any", `{"enum":["a",1,null]}`,
		},
		"one type for several": {
			[]pluginsdk.Option{pluginsdk.Argument("inner.mode", `{"type":"string"}`)},
			"properties.inner.properties.mode", `{"type":"string"}`,
		},
		"several types for one": {
			[]pluginsdk.Option{pluginsdk.Argument("name", `{"type":["string","null"]}`)},
			"properties.name", `{"type":["string","null"]}`,
		},
		"twice": {
			[]pluginsdk.Option{
				pluginsdk.Argument("name", `{"x-one":1,"x-two":1,"minLength":1}`),
				pluginsdk.Argument("name", `{"x-two":2,"maxLength":5}`),
			},
			"properties.name", `{"type":"string","minLength":1,"maxLength":5,"x-one":1,"x-two":2}`,
		},
		"nothing": {[]pluginsdk.Option{pluginsdk.Argument("name", `{}`)}, "properties.name", `{"type":"string"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := at(t, with(c.opts...), strings.Split(c.path, ".")...)
			var a, b any
			if json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal([]byte(c.want), &b) != nil || !reflect.DeepEqual(a, b) {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestArgumentPanics(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"other":       `pluginsdk.Func("t"): Argument("other"): there is no argument "other"`,
		"inner.other": `Argument("inner.other"): there is no argument "other"`,
		"name.x":      `Argument("name.x"): there is no argument "x"`,
		"list.path":   `there is no argument "path"`,
		"":            `there is no argument ""`,
	} {
		wantPanic(t, want, func() { with(pluginsdk.Argument(path, `{}`)) })
	}
	for _, keywords := range []string{``, `{`, `[]`, `true`, `null`, `"x"`, `{"minLength":"x"}`, `{"type":5}`} {
		wantPanic(t, `pluginsdk.Func("t"): Argument("name"): `, func() { with(pluginsdk.Argument("name", keywords)) })
	}
}

func TestOptionsThatDoNotFit(t *testing.T) {
	t.Parallel()
	for want, opt := range map[string]pluginsdk.Option{
		"max_retries is 11":           pluginsdk.Idempotent(11),
		"the timeout is negative":     pluginsdk.Timeout(-1),
		"the rate limit is malformed": pluginsdk.RateLimit(0, time.Second),
		"malformed permission":        pluginsdk.Permission("No"),
		"malformed category":          pluginsdk.Categories(""),
	} {
		wantPanic(t, want, func() { with(opt) })
	}
}

func TestPreviewTakesTheToolsArguments(t *testing.T) {
	t.Parallel()
	type in struct {
		N int `json:"n"`
	}
	double := func(_ context.Context, v in) (int, error) { return 2 * v.N, nil }
	x := pluginsdk.Func("double", "Doubles.", double, pluginsdk.Preview(func(_ context.Context, v in) (tool.Result, error) {
		return tool.Text(fmt.Sprintf("would double %d", v.N)), nil
	}))
	res, err := x.Preview(t.Context(), tool.Call{Name: "double", Arguments: []byte(`{"n":4}`)})
	if err != nil || res.Text() != "would double 4" {
		t.Errorf("got %q, %v", res.Text(), err)
	}
	defer func() {
		assert.Containsf(t, fmt.Sprint(recover()), "Preview takes", "a preview of a function with another argument type")
	}()
	pluginsdk.Func("double", "Doubles.", double,
		pluginsdk.Preview(func(context.Context, struct{}) (tool.Result, error) { return tool.Result{}, nil }))
}
