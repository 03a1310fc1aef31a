package pluginrun

import (
	"fmt"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Other needs are another description, and the same ones are not.
func TestNeedsCountInADescription(t *testing.T) {
	t.Parallel()
	var p published
	for i, c := range []struct {
		needs   *tool.Needs
		changed bool
	}{
		{nil, false}, {nil, false}, {&tool.Needs{}, true}, {&tool.Needs{}, false},
		{&tool.Needs{Net: []string{"a.example:1"}}, true}, {&tool.Needs{Net: []string{"a.example:1"}}, false}, {nil, true},
	} {
		assert.Equalf(t, p.store(wire.Description{Name: "p", Needs: c.needs}), c.changed, "%d: %v: changed", i, c.needs)
	}
}

// An error of a configuration names the setting, and shows no value that the schema marks as writeOnly.
func TestSensitiveConfiguration(t *testing.T) {
	t.Parallel()
	const declared = `{"type":"object","properties":{"region":{"enum":["eu"]},"accounts":{"type":"array","items":{"type":"object",
		"properties":{"token":{"type":"string","maxLength":4,"writeOnly":true}}}}}}`
	for text, want := range map[string]string{
		`{"region":"us"}`:                   `the configuration does not fit: invalid value for region: "us" is not "eu" (enum)`,
		`{"accounts":[{"token":"s3cret"}]}`: "the configuration does not fit: invalid value for accounts[0].token: maxLength (its value is sensitive, and not shown)",
		`{"accounts":[{"token":"ok"}]}`:     "<nil>",
	} {
		assert.Equalf(t, fmt.Sprint(checkConfiguration(t.Context(), []byte(declared), []byte(text))), want, "%s", text)
	}
}
