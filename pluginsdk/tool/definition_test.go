package tool_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// full has every field set.
func full() tool.Definition {
	return tool.Definition{
		Name: "fs.read", Alias: "alias", Title: "Read", Description: "Reads.",
		InputSchema: tool.Schema(`{"type":"object"}`), OutputSchema: tool.Schema(`{"type":"array"}`),
		Safety: tool.Cautious, Categories: []string{"fs", "read"}, Permission: tool.FSRead,
		Idempotent: true, MaxRetries: 3, Timeout: tool.Duration(90 * time.Second),
		RateLimit: &tool.RateLimit{Calls: 5, Period: tool.Duration(time.Minute)}, Sensitive: []string{"password"},
		Icons: json.RawMessage(`[{"src":"data:image/png;base64,AAAA"},{"src":"https://a/b","sizes":["any"]}]`),
		Meta:  json.RawMessage(`{"ui":{"resourceUri":"ui://a"}}`),
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*tool.Definition)
		want  string // "": the definition is valid
	}{
		"full":                  {func(*tool.Definition) {}, ""},
		"least":                 {func(d *tool.Definition) { *d = tool.Definition{Name: "a", Description: "b"} }, ""},
		"longest name":          {func(d *tool.Definition) { d.Name = strings.Repeat("a", 128) }, ""},
		"all signs of a name":   {func(d *tool.Definition) { d.Name = "aZ09_.-" }, ""},
		"longest title":         {func(d *tool.Definition) { d.Title = strings.Repeat("a", 1<<10) }, ""},
		"longest description":   {func(d *tool.Definition) { d.Description = strings.Repeat("a", 64<<10) }, ""},
		"most retries":          {func(d *tool.Definition) { d.MaxRetries = 10 }, ""},
		"permission of a word":  {func(d *tool.Definition) { d.Permission = "exec" }, ""},
		"no safety":             {func(d *tool.Definition) { d.Safety = tool.Unset }, ""},
		"no rate limit":         {func(d *tool.Definition) { d.RateLimit = nil }, ""},
		"no name":               {func(d *tool.Definition) { d.Name = "" }, "tool name is empty"},
		"space in a name":       {func(d *tool.Definition) { d.Name = "a b" }, "characters or a length"},
		"newline after a name":  {func(d *tool.Definition) { d.Name = "a\n" }, "characters or a length"},
		"long name":             {func(d *tool.Definition) { d.Name = strings.Repeat("a", 129) }, "characters or a length"},
		"no description":        {func(d *tool.Definition) { d.Description = "" }, "the description is missing"},
		"blank description":     {func(d *tool.Definition) { d.Description = " \n\t" }, "the description is missing"},
		"long description":      {func(d *tool.Definition) { d.Description = strings.Repeat("a", 64<<10+1) }, "bytes, more than"},
		"long title":            {func(d *tool.Definition) { d.Title = strings.Repeat("a", 1<<10+1) }, "bytes, more than"},
		"lines":                 {func(d *tool.Definition) { d.Title, d.Description = "a\tb", "a\n\tb, é 世界" }, ""},
		"escape in title":       {func(d *tool.Definition) { d.Title = "\x1b[2J" }, "the title has a hidden"},
		"NUL":                   {func(d *tool.Definition) { d.Description = "a\x00b" }, "the description has a hidden character, U+0000"},
		"escape":                {func(d *tool.Definition) { d.Description = "\x1b[2J" }, "the description has a hidden"},
		"carriage return":       {func(d *tool.Definition) { d.Description = "a\rb" }, "the description has a hidden"},
		"C1 control":            {func(d *tool.Definition) { d.Description = "a\u009b31m" }, "the description has a hidden"},
		"override":              {func(d *tool.Definition) { d.Description = "a\u202eb" }, "the description has a hidden"},
		"isolate in title":      {func(d *tool.Definition) { d.Title = "a\u2066b" }, "the title has a hidden"},
		"garbled title":         {func(d *tool.Definition) { d.Title = "\xff" }, "not valid UTF-8"},
		"garbled description":   {func(d *tool.Definition) { d.Description = "a\xff" }, "not valid UTF-8"},
		"safety too high":       {func(d *tool.Definition) { d.Safety = tool.Dangerous + 1 }, "unknown safety level 4"},
		"safety below zero":     {func(d *tool.Definition) { d.Safety = -1 }, "unknown safety level -1"},
		"permission":            {func(d *tool.Definition) { d.Permission = "fs:read:all" }, "malformed permission"},
		"permission upper case": {func(d *tool.Definition) { d.Permission = "FS:read" }, "malformed permission"},
		"retries below zero":    {func(d *tool.Definition) { d.MaxRetries = -1 }, "max_retries is -1"},
		"too many retries":      {func(d *tool.Definition) { d.MaxRetries = 11 }, "max_retries is 11"},
		"timeout below zero":    {func(d *tool.Definition) { d.Timeout = -1 }, "the timeout is negative"},
		"no calls":              {func(d *tool.Definition) { d.RateLimit.Calls = 0 }, "the rate limit is malformed"},
		"too many calls":        {func(d *tool.Definition) { d.RateLimit.Calls = math.MaxInt32 + 1 }, "the rate limit is malformed"},
		"no period":             {func(d *tool.Definition) { d.RateLimit.Period = 0 }, "the rate limit is malformed"},
		"too many categories": {func(d *tool.Definition) {
			d.Categories = slices.Repeat([]string{"a"}, 64+1)
		}, "65 categories, more than 64"},
		"too many sensitive names": {func(d *tool.Definition) {
			d.Sensitive = slices.Repeat([]string{"a"}, 256+1)
		}, "257 sensitive names, more than 256"},
		"icons without a list": {func(d *tool.Definition) { d.Icons = []byte(`{"src":"https://a"}`) }, "not a list of objects"},
		"icon of a file":       {func(d *tool.Definition) { d.Icons = []byte(`[{"src":"file:///a"}]`) }, "neither https: nor data:image/"},
		"icon of a script":     {func(d *tool.Definition) { d.Icons = []byte(`[{"src":"data:text/html,x"}]`) }, "neither https: nor data:image/"},
		"hidden in an icon":    {func(d *tool.Definition) { d.Icons = []byte(`[{"src":"https://a/\u202e"}]`) }, "hidden character, U+202E"},
		"too many icons": {func(d *tool.Definition) {
			d.Icons = []byte("[" + strings.Repeat(`{"src":"https://a"},`, 16) + `{"src":"https://a"}]`)
		}, "17 icons, more than 16"},
		"large icon": {func(d *tool.Definition) {
			d.Icons = []byte(`[{"src":"data:image/png,` + strings.Repeat("x", 64<<10) + `"}]`)
		}, "more than 65536"},
		"_meta with a list": {func(d *tool.Definition) { d.Meta = []byte(`[1]`) }, "not an object"},
		"_meta cut short":   {func(d *tool.Definition) { d.Meta = []byte(`{"a":`) }, "not JSON"},
		"deep _meta": {func(d *tool.Definition) {
			d.Meta = []byte(strings.Repeat(`{"]":`, 65) + `"\"["` + strings.Repeat("}", 65))
		}, "65 levels, more than 64"},
		"large _meta":          {func(d *tool.Definition) { d.Meta = []byte(`{"a":"` + strings.Repeat("x", 64<<10) + `"}`) }, "more than 65536"},
		"empty sensitive name": {func(d *tool.Definition) { d.Sensitive = []string{"a", ""} }, "has 0 bytes"},
		"long sensitive name":  {func(d *tool.Definition) { d.Sensitive = []string{strings.Repeat("a", 257)} }, "has 257 bytes"},
		"empty category":       {func(d *tool.Definition) { d.Categories = []string{"a", ""} }, "malformed category"},
		"long category":        {func(d *tool.Definition) { d.Categories = []string{strings.Repeat("a", 65)} }, "malformed category"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := full()
			c.spoil(&d)
			err := d.Check()
			if c.want == "" {
				assert.NoError(t, err)
				return
			}
			var e *tool.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want a *tool.Error", err)
			}
			if e.Code != tool.CodeInvalidDefinition || e.Tool != d.Name || e.Stage != callstage.Register || e.Hint == "" ||
				!strings.Contains(e.Message, c.want) {
				t.Errorf("got %+v, want ...%q...", e, c.want)
			}
			if len(e.Message) > 400 || strings.Contains(e.Message, "\n") {
				t.Errorf("the message is not one short line: %q", e.Message)
			}
			if errors.Is(err, tool.ErrEmptyName) != (d.Name == "") {
				t.Errorf("errors.Is(%v, ErrEmptyName) is wrong", err)
			}
		})
	}
}

func TestClone(t *testing.T) {
	t.Parallel()
	d := full()
	if v := reflect.ValueOf(d); !v.IsZero() {
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Fatalf("this test does not set %s", v.Type().Field(i).Name)
			}
		}
	}
	c := d.Clone()
	if !reflect.DeepEqual(c, d) {
		t.Fatalf("%+v, want %+v", c, d)
	}
	c.InputSchema[0], c.OutputSchema[0], c.Categories[0], c.Sensitive[0], c.RateLimit.Calls = 'x', 'x', "x", "x", 99
	c.Icons[0], c.Meta[0] = 'x', 'x'
	if !reflect.DeepEqual(d, full()) {
		t.Errorf("the copy shares memory with the original: %+v", d)
	}
	if zero := (tool.Definition{}); !reflect.DeepEqual(zero.Clone(), zero) {
		t.Errorf("the clone of a zero definition is not zero: %+v", zero.Clone())
	}
}

func TestDefinitionJSON(t *testing.T) {
	t.Parallel()
	b := require.Must(json.Marshal(full()))(t)
	for _, want := range []string{
		`"safety":"cautious"`, `"timeout":"1m30s"`, `"input_schema":{"type":"object"}`, `"period":"1m0s"`,
	} {
		assert.Containsf(t, string(b), want, "%s has no %s", b, want)
	}
	var got tool.Definition
	if err := json.Unmarshal(b, &got); err != nil || !reflect.DeepEqual(got, full()) {
		t.Errorf("%+v, %v, want %+v", got, err, full())
	}
	for _, bad := range []string{`{"safety":"harmless"}`, `{"timeout":5}`, `{"timeout":"soon"}`} {
		if err := json.Unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

func TestCapability(t *testing.T) {
	t.Parallel()
	for c, want := range map[tool.Capability]bool{
		tool.FSRead: true, tool.FSWrite: true, tool.Exec: true, tool.Net: true, "my-app2:do_it": true,
		"": false, ":": false, "a:": false, ":a": false, "a:b:c": false, "A": false, "1a": false, "a b": false, "fs:read\n": false,
		tool.Capability(strings.Repeat("a", 33)): false,
	} {
		assert.Equalf(t, c.Valid(), want, "%q", c)
	}
}
