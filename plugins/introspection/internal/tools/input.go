package tools

import (
	"fmt"

	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/pluginsdk"
)

// build is the part of an input that says which files build constraints leave out.
type build struct {
	GOOS string   `json:"goos,omitempty" jsonschema:"for another system, such as windows or darwin/arm64"`
	Tags []string `json:"tags,omitempty" jsonschema:"build tags, such as integration"`
}

func (b build) platform() (check.Platform, error) { return check.ParsePlatform(b.GOOS, b.Tags) }

func buildArguments() []pluginsdk.Option {
	return []pluginsdk.Option{
		pluginsdk.Argument("goos", `{"minLength": 1, "maxLength": 64}`),
		pluginsdk.Argument("tags", `{"type": "array", "maxItems": 16, "items": {"type": "string", "minLength": 1, "maxLength": 64}}`),
	}
}

// page is the part of an input that says which part of a long answer is wanted.
type page struct {
	Limit  int `json:"limit,omitempty" jsonschema:"at most so many entries; default: as many as fit"`
	Offset int `json:"offset,omitempty" jsonschema:"next_offset of the answer before"`
}

func pageArguments(maxLimit int) []pluginsdk.Option {
	return []pluginsdk.Option{
		pluginsdk.Argument("limit", fmt.Sprintf(`{"minimum": 1, "maximum": %d}`, maxLimit)),
		pluginsdk.Argument("offset", `{"minimum": 0, "default": 0}`),
	}
}

// tests is the part of an input that leaves out what test files declare or use.
type tests struct {
	Tests *bool `json:"tests,omitempty" jsonschema:"include test files"`
}

func (t tests) included() bool { return t.Tests == nil || *t.Tests }

func testsArgument() pluginsdk.Option {
	return pluginsdk.Argument("tests", `{"type": "boolean", "default": true}`)
}
