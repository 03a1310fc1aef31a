package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Schema is a JSON Schema that was found harmless. It is safe for concurrent
// use.
type Schema struct {
	raw   json.RawMessage
	v5    *jsonschema.Schema
	nodes []*node
	// byAddress finds what an error of v5 is about.
	byAddress map[string]*node
	rate      rate
	role      role
}

// role is what the values are, for the texts.
type role struct{ whole, part string }

var (
	input  = role{whole: "arguments", part: "argument"}
	output = role{whole: "result", part: "property"}
)

// noArguments is the schema of a tool that takes none.
const noArguments = `{"type":"object","properties":{},"additionalProperties":false}`

// CompileInput makes a tool's input schema ready. Its root must have
// "type": "object"; empty text means that the tool takes no arguments. The
// draft is 2020-12 where "$schema" names no other.
//
// # Errors
//
// A plain error with the reason: the schema is malformed, passes a limit of
// the package's comment, or requires an argument that it does not describe.
func CompileInput(raw json.RawMessage) (*Schema, error) {
	if len(raw) == 0 {
		raw = json.RawMessage(noArguments)
	}
	return compile(raw, input)
}

// CompileOutput makes a tool's output schema ready. Its root may be any
// schema; empty text promises nothing, as true does.
//
// # Errors
//
// A plain error with the reason: the schema is malformed or passes a limit of
// the package's comment.
func CompileOutput(raw json.RawMessage) (*Schema, error) {
	if len(raw) == 0 {
		raw = json.RawMessage("true")
	}
	return compile(raw, output)
}

func compile(raw json.RawMessage, r role) (*Schema, error) {
	if len(raw) > maxSchemaBytes {
		return nil, fmt.Errorf("the schema has %d bytes, more than %d", len(raw), maxSchemaBytes)
	}
	doc, err := parse(raw, maxSchemaLevels)
	if err != nil {
		return nil, err
	}
	if r == input {
		if err := checkRoot(doc); err != nil {
			return nil, err
		}
	}
	b, shown, err := build(doc)
	if err != nil {
		return nil, err
	}
	evaluations, err := bound(b.nodes)
	if err != nil {
		return nil, err
	}
	v5, err := hand(shown)
	if err != nil {
		return nil, err
	}
	for _, n := range b.nodes {
		n.plain = plainOf(n, b.draft, b.patterns)
		n.direct = directOf(n)
	}
	return &Schema{
		raw: slices.Clone(raw), v5: v5, nodes: b.nodes, byAddress: b.byAddress,
		rate: rateOf(b.nodes, evaluations), role: r,
	}, nil
}

// checkRoot asks of an input schema what models and forms rely on.
func checkRoot(doc any) error {
	keys, _ := doc.(map[string]any)
	if keys["type"] != "object" {
		return errors.New(`the root must have "type": "object"`)
	}
	properties, _ := keys["properties"].(map[string]any)
	required, _ := keys["required"].([]any)
	for _, v := range required {
		if name, ok := v.(string); ok {
			if _, ok := properties[name]; !ok {
				return fmt.Errorf("required name %s is not among the properties", quote(name))
			}
		}
	}
	return nil
}

// hand gives v5 the copy of a schema. What it refuses now is beyond the shapes
// that were checked, such as a keyword that one draft has and another has not.
func hand(shown any) (s *jsonschema.Schema, err error) {
	defer func() {
		if v := recover(); v != nil {
			s, err = nil, fmt.Errorf("the schema does not compile: the validator failed: %v", v)
		}
	}()
	text, err := json.Marshal(shown)
	if err != nil {
		return nil, fmt.Errorf("the schema does not compile: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("%s is not loaded: schemas refer only to themselves", quote(url))
	}
	c.AssertFormat = true // in every draft alike; v5 would do so where $schema is absent
	c.RegisterExtension(uniqueKeyword, nil, uniqueItems{})
	for _, name := range []string{"duration", "period", "regex"} {
		c.Formats[name] = short(jsonschema.Formats[name])
	}
	if err := c.AddResource(base, bytes.NewReader(text)); err != nil {
		return nil, fmt.Errorf("the schema does not compile: %w", err)
	}
	s, err = c.Compile(base)
	if err != nil {
		var fault *jsonschema.ValidationError
		if errors.As(err, &fault) {
			for len(fault.Causes) > 0 {
				fault = fault.Causes[0]
			}
			return nil, fmt.Errorf("the schema does not compile: its draft does not allow what is at #%s", cut(fault.InstanceLocation, maxProblemLength))
		}
		return nil, fmt.Errorf("the schema does not compile: %w", err)
	}
	return s, nil
}

// short bounds a format whose check takes more than linear time.
func short(format func(any) bool) func(any) bool {
	return func(v any) bool {
		if s, ok := v.(string); ok && len(s) > 256 {
			return false
		}
		return format(v)
	}
}

// Text is the schema as it was given; for an input schema that was empty, the
// schema that allows no arguments. The caller owns it.
func (s *Schema) Text() json.RawMessage { return slices.Clone(s.raw) }

// Check reports whether JSON text fits the schema. Empty text counts as {}.
//
// # Errors
//
// A [*Violation] that says what is wrong, in words fit for a model.
func (s *Schema) Check(raw []byte) error {
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	if s.rate.small(len(raw), false) && s.fitsText(raw) {
		return nil
	}
	v, err := parse(raw, maxValueLevels)
	if err != nil {
		return &Violation{Problems: []string{err.Error()}}
	}
	if s.role == input && !is[map[string]any](v) {
		// In older drafts a $ref at the root silences the "type" beside it.
		return &Violation{Problems: []string{"arguments must be an object, got " + typeName(v)}}
	}
	root := s.nodes[0]
	var m meter
	if !s.rate.small(len(raw), false) {
		if m.run(root, v); m.over() {
			return s.tooLarge()
		}
	}
	if root.fits(v) {
		return nil
	}
	if m.onlyV5 = true; !m.ran && !s.rate.small(len(raw), true) {
		m.run(root, v)
	}
	if m.over() {
		return s.tooLarge()
	}
	return s.judge(v)
}

func (s *Schema) tooLarge() error {
	return &Violation{Problems: []string{"the " + s.role.whole + " would take too long to check against the schema"}}
}

// judge asks v5, and makes its answer ours.
func (s *Schema) judge(v any) (err error) {
	defer func() {
		if recover() != nil {
			err = &Violation{Problems: []string{"the " + s.role.whole + " could not be checked: the validator failed"}}
		}
	}()
	err = s.v5.Validate(v)
	if err == nil {
		return nil
	}
	var fault *jsonschema.ValidationError
	if !errors.As(err, &fault) {
		panic(err)
	}
	return s.explain(fault, v)
}
