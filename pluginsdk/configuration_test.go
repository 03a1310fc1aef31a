package pluginsdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type account struct {
	Name  string `json:"name"`
	Token string `json:"token,omitempty" sensitive:"true"`
}

type settings struct {
	Region   string        `json:"region" enum:"eu,us" default:"eu"`
	Wait     tool.Duration `json:"wait" default:"10s"`
	Retries  int8          `json:"retries" minimum:"0" default:"3"`
	Key      int           `json:"key,omitempty"`
	Accounts []account     `json:"accounts,omitempty"`
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	var got settings
	var root string
	c := pluginsdk.Configuration(func(_ context.Context, c pluginsdk.Config, s settings) error {
		got, root = s, c.Root
		if s.Region == "us" {
			return errors.New("region us is closed")
		}
		return nil
	}, pluginsdk.Argument("retries", `{"maximum":9}`), pluginsdk.Sensitive("key"))
	want := `{"type":"object","properties":{"region":{"type":"string","default":"eu","enum":["eu","us"]},` +
		`"wait":{"type":"string","default":"10s"},"retries":{"type":"integer","default":3,"minimum":0,"maximum":9},"key":{"type":"integer","writeOnly":true},` +
		`"accounts":{"type":["null","array"],"items":{"type":"object","properties":{"name":{"type":"string"},"token":{"type":"string","writeOnly":true}},` +
		`"required":["name"],"additionalProperties":false}}},"additionalProperties":false}`
	if string(c.Schema()) != want {
		t.Errorf("%s, want\n%s", c.Schema(), want)
	}
	if err := c.Configure(t.Context(), pluginsdk.Config{Root: "/srv"}); err != nil || got.Region != "eu" || got.Wait != tool.Duration(10*time.Second) || got.Retries != 3 || root != "/srv" {
		t.Errorf("nothing is configured: %+v in %s, %v", got, root, err)
	}
	for text, want := range map[string]string{
		`{"wait":"1m","retries":2.0}`: "{eu 60000000000 2 0 []} <nil>",
		`{"region":"us"}`:             "{us 10000000000 3 0 []} region us is closed",
		`{"retries":300}`:             "{ 0 0 0 []} the configuration does not fit: invalid value for retries: 300 is out of range, from -128 to 127",
		`{"wait":"soon"}`:             `{ 0 0 0 []} the configuration does not fit: invalid value for wait: time: invalid duration "soon"`,
		`{"key":"s3cret"}`:            `{ 0 0 0 []} the configuration does not fit: invalid value for key (its value is sensitive, and not shown)`,
		`{"accounts":[{"token":7}]}`:  `{ 0 0 0 []} the configuration does not fit: invalid value for accounts[0].token (its value is sensitive, and not shown)`,
	} {
		got = settings{}
		err := c.Configure(t.Context(), pluginsdk.Config{JSON: json.RawMessage(text)})
		assert.Equalf(t, fmt.Sprintf("%v %v", got, err), want, "%s", text)
	}
	if err := (pluginsdk.Configurator{}).Configure(t.Context(), pluginsdk.Config{}); err != nil || len((pluginsdk.Configurator{}).Schema()) > 0 {
		t.Errorf("the zero value: %v", err)
	}
}

func TestConfigurationPanics(t *testing.T) {
	t.Parallel()
	wantPanic(t, "pluginsdk.Configuration[string]: the configuration must be a struct or a map, not string", func() {
		pluginsdk.Configuration(func(context.Context, pluginsdk.Config, string) error { return nil })
	})
	type bad struct {
		N int `json:"n" minimum:"x"`
	}
	wantPanic(t, "pluginsdk.Configuration[pluginsdk_test.bad]: field N: the tag minimum:\"x\"", func() {
		pluginsdk.Configuration(func(context.Context, pluginsdk.Config, bad) error { return nil })
	})
	wantPanic(t, `Argument("m"): there is no argument "m"`, func() {
		pluginsdk.Configuration(func(context.Context, pluginsdk.Config, settings) error { return nil }, pluginsdk.Argument("m", `{}`))
	})
}

// A plugin that was started takes what the host sends as its type.
func TestPluginWithATypedConfiguration(t *testing.T) {
	t.Parallel()
	p := start(t, "typed")
	about, err := p.Describe(t.Context(), "test")
	if err != nil || !strings.Contains(string(about.ConfigSchema), `"enum":["eu","us"]`) {
		t.Fatalf("%s, %v", about.ConfigSchema, err)
	}
	require.NoError(t, p.Configure(t.Context(), pluginsdkConfig(`{"retries":5}`)))
	if r, err := p.Execute(t.Context(), tool.Call{Name: "region"}); err != nil || r.Text() != "eu 5" {
		t.Errorf("%+v, %v", r, err)
	}
	assert.ErrorContains(t, p.Configure(t.Context(), pluginsdkConfig(`{"retries":"x"}`)), "invalid value for retries")
}
