package schema

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// Schema is a JSON Schema that was found harmless. It is safe for concurrent
// use.
type Schema struct {
	raw   json.RawMessage
	v5    func() (*jsonschema.Schema, error)
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
func CompileInput(raw json.RawMessage) (*Schema, error) { return (*Budget)(nil).CompileInput(raw) }

// CompileInput is [CompileInput] as far as the budget goes.
//
// # Errors
//
// Those of CompileInput, and [ErrBudget].
func (b *Budget) CompileInput(raw json.RawMessage) (*Schema, error) {
	if len(raw) == 0 {
		raw = json.RawMessage(noArguments)
	}
	return compile(raw, input, b)
}

// CompileOutput makes a tool's output schema ready. Its root may be any
// schema; empty text promises nothing, as true does.
//
// # Errors
//
// A plain error with the reason: the schema is malformed or passes a limit of
// the package's comment.
func CompileOutput(raw json.RawMessage) (*Schema, error) {
	return (*Budget)(nil).CompileOutput(raw)
}

// CompileOutput is [CompileOutput] as far as the budget goes.
//
// # Errors
//
// Those of CompileOutput, and [ErrBudget].
func (b *Budget) CompileOutput(raw json.RawMessage) (*Schema, error) {
	if len(raw) == 0 {
		raw = json.RawMessage("true")
	}
	return compile(raw, output, b)
}

// CompileOwn makes a schema of this program ready, as CompileOutput does, but without
// jsonschema/v5, which takes most of the time: v5 compiles it once a value needs it.
//
// # Errors
//
// Those of CompileOutput, and later those of [Schema.Check].
func CompileOwn(raw json.RawMessage) (*Schema, error) {
	s, shown, err := prepare(raw, output, nil)
	if err != nil {
		return nil, err
	}
	s.v5 = sync.OnceValues(func() (*jsonschema.Schema, error) { return hand(shown) })
	return s, nil
}

func compile(raw json.RawMessage, r role, budget *Budget) (*Schema, error) {
	s, shown, err := prepare(raw, r, budget)
	if err != nil {
		return nil, err
	}
	v5, err := hand(shown)
	if err != nil {
		return nil, err
	}
	s.v5 = func() (*jsonschema.Schema, error) { return v5, nil }
	return s, nil
}

// prepare checks a schema, and returns it without its v5, and what v5 is shown of it.
func prepare(raw json.RawMessage, r role, budget *Budget) (s *Schema, shown any, err error) {
	if len(raw) > maxSchemaBytes {
		return nil, nil, fmt.Errorf("the schema has %d bytes, more than %d", len(raw), maxSchemaBytes)
	}
	if !budget.spend(len(raw) / costBytes) {
		return nil, nil, ErrBudget
	}
	doc, err := parse(raw, maxSchemaLevels, nil)
	if err != nil {
		return nil, nil, err
	}
	if err := checkTexts(doc); err != nil {
		return nil, nil, err
	}
	if r == input {
		if err := checkRoot(doc); err != nil {
			return nil, nil, err
		}
	}
	b, shown, err := build(doc)
	if !budget.spend(b.cost()) {
		return nil, nil, ErrBudget
	}
	if err != nil {
		return nil, nil, err
	}
	evaluations, err := bound(b.nodes)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range b.nodes {
		n.rules = rulesOf(n, b.draft, b.patterns)
	}
	return &Schema{
		raw: slices.Clone(raw), nodes: b.nodes, byAddress: b.byAddress,
		rate: rateOf(b.nodes, evaluations), role: r,
	}, shown, nil
}

// checkTexts refuses a schema with a text, wherever it is and whatever it is for, that a
// model reads otherwise than a person: models are given all of a schema. Of control
// characters JSON has only the escapes, which are seen: there are enums of line endings.
func checkTexts(doc any) error {
	switch doc := doc.(type) {
	case string:
		if r, found := sanitize.Hidden(strings.Map(withoutControls, doc)); found {
			from := max(0, strings.IndexRune(doc, r)-maxValueLength/2)
			text := sanitize.Quote(strings.ToValidUTF8(doc[from:], ""), maxValueLength)
			return fmt.Errorf("the text %s has a hidden character, %U: leave it out, or write \\x{%X} in a pattern", text, r, r)
		}
	case []any:
		for _, item := range doc {
			if err := checkTexts(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(doc)) {
			if err := cmp.Or(checkTexts(key), checkTexts(doc[key])); err != nil {
				return err
			}
		}
	}
	return nil
}

func withoutControls(r rune) rune {
	if r < ' ' {
		return ' '
	}
	return r
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
	for _, name := range []string{"duration", "period"} {
		c.Formats[name] = short(jsonschema.Formats[name])
	}
	c.Formats["regex"] = short(isRegex)
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

// maxShort bounds, in bytes, texts of a format whose check takes more than linear
// time.
const maxShort = 256

// short refuses longer ones.
func short(format func(any) bool) func(any) bool {
	return func(v any) bool {
		if s, ok := v.(string); ok && len(s) > maxShort {
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
// A check that may take longer than some tens of milliseconds waits for others
// that may, so that no more than half of the processors are busy with them, and
// ends soon after ctx: v5 is not interrupted, but asked only for what it does
// in about half a second.
//
// # Errors
//
// A [*Violation] that says what is wrong, in words fit for a model; a
// [*LimitError] where it would take too long to say; an error that wraps that of
// ctx where it ended first.
func (s *Schema) Check(ctx context.Context, raw []byte) error {
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	heavy := len(raw) > lightText
	if !heavy {
		var fits bool
		if fits, heavy = s.fitsText(raw, lightEffort, nil); fits {
			return nil
		}
	}
	t := task{ctx: ctx}
	defer t.done()
	return s.check(&t, raw, heavy)
}

// check is Check for what reading the text with little effort does not tell.
func (s *Schema) check(t *task, raw []byte, heavy bool) error {
	if heavy {
		if !t.heavy() {
			return t.err
		}
		if fits, _ := s.fitsText(raw, heavyEffort, t); fits {
			return nil
		}
	}
	v, err := parse(raw, maxValueLevels, t)
	switch {
	case t.err != nil:
		return t.err
	case err != nil:
		return &Violation{Problems: []string{err.Error()}}
	}
	if s.role == input && !is[map[string]any](v) {
		// In older drafts a $ref at the root silences the "type" beside it.
		return &Violation{Problems: []string{"arguments must be an object, got " + typeName(v)}}
	}
	if !s.rate.light(len(raw)) {
		m := meter{task: t}
		m.visit(s.nodes[0], v, way{})
		switch {
		case t.err != nil:
			return t.err
		case m.over():
			return &LimitError{s.role.whole}
		case m.heavy() && !t.heavy():
			return t.err
		}
	}
	return s.judge(v)
}

// judge asks v5, and makes its answer ours.
func (s *Schema) judge(v any) (err error) {
	defer func() {
		if recover() != nil {
			err = &Violation{Problems: []string{"the " + s.role.whole + " could not be checked: the validator failed"}}
		}
	}()
	v5, err := s.v5()
	if err != nil {
		return err
	}
	if err = v5.Validate(v); err == nil {
		return nil
	}
	var fault *jsonschema.ValidationError
	if !errors.As(err, &fault) {
		panic(err)
	}
	return s.explain(fault, v)
}
