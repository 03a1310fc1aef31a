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

	"github.com/toolhost/toolhost/internal/jsontree"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// Schema is a JSON Schema that is within the limits of this package. It is safe
// for concurrent use.
type Schema struct {
	raw json.RawMessage
	// v5 is made by the first value that the text judge does not accept, if it is sure to compile.
	v5    func() (*jsonschema.Schema, error)
	nodes []*node
	// byAddress finds the subschema that an error of v5 refers to.
	byAddress map[string]*node
	role      role
	warnings  []string
	compiles  bool // v5 is sure to compile it, and soon
}

// role names the validated values and their parts in errors.
type role struct{ whole, part string }

var (
	input  = role{whole: "arguments", part: "argument"}
	output = role{whole: "result", part: "property"}
)

// CompileInput compiles a tool's input schema. Its root must have "type":
// "object"; empty text means that the tool takes no arguments. The draft is
// 2020-12 unless "$schema" names another.
//
// # Errors
//
// A plain error with the reason: the schema is malformed, exceeds a limit
// listed in the package comment, or requires an argument that it does not
// describe.
func CompileInput(raw json.RawMessage) (*Schema, error) { return (*Budget)(nil).CompileInput(raw) }

// CompileInput is [CompileInput] within the budget.
//
// # Errors
//
// Those of [CompileInput], and [ErrBudget].
func (b *Budget) CompileInput(raw json.RawMessage) (*Schema, error) {
	if len(raw) == 0 {
		raw = json.RawMessage(jsontree.NoArguments)
	}
	return compile(raw, input, b)
}

// CompileOutput compiles a tool's output schema. Its root may be any schema;
// empty text accepts any value, as true does.
//
// # Errors
//
// A plain error with the reason: the schema is malformed or exceeds a limit
// listed in the package comment.
func CompileOutput(raw json.RawMessage) (*Schema, error) {
	return (*Budget)(nil).CompileOutput(raw)
}

// CompileOutput is [CompileOutput] within the budget.
//
// # Errors
//
// Those of [CompileOutput], and [ErrBudget].
func (b *Budget) CompileOutput(raw json.RawMessage) (*Schema, error) {
	if len(raw) == 0 {
		raw = json.RawMessage("true")
	}
	return compile(raw, output, b)
}

func compile(raw json.RawMessage, r role, budget *Budget) (*Schema, error) {
	s, shown, err := prepare(raw, r, budget)
	if err != nil {
		return nil, err
	}
	if s.compiles {
		s.v5 = sync.OnceValues(func() (*jsonschema.Schema, error) {
			_, shown, err := prepare(s.raw, r, nil) // the copy is larger than the text
			if err != nil {
				return nil, err
			}
			return compileV5(shown)
		})
		return s, nil
	}
	made, err := compileV5(shown)
	if err != nil {
		return nil, err
	}
	s.v5 = func() (*jsonschema.Schema, error) { return made, nil }
	return s, nil
}

// certain are the keywords of draft 2020-12 with which v5 compiles, as their values have been checked here no less
// than by the draft's own schema. Compiling takes v5 ten times as long as everything else, and its result is most
// of a Schema.
var certain = map[string]bool{
	"$ref": true, "$defs": true, "type": true, "enum": true, "const": true, neverKeyword: true, uniqueKeyword: true,
	"minimum": true, "maximum": true, "exclusiveMinimum": true, "exclusiveMaximum": true, "multipleOf": true,
	"minLength": true, "maxLength": true, "pattern": true, "format": true, "minItems": true, "maxItems": true,
	"minProperties": true, "maxProperties": true, "required": true, "properties": true, "additionalProperties": true,
	"items": true, "allOf": true, "anyOf": true, "oneOf": true, "not": true,
}

// maxLater bounds the cost, in subschemas, of what v5 compiles during a call: so many take it 5 ms.
const maxLater = 200

// compiles reports whether v5 is sure to compile the copy of a schema, and soon.
func (b *builder) compiles() bool {
	if b.cost() > maxLater {
		return false
	}
	for _, n := range b.nodes {
		for name := range n.shown {
			if !certain[name] && name != "$schema" {
				return false
			}
		}
	}
	return b.draft == jsontree.Draft2020
}

// prepare checks a schema. It returns the Schema without v5, and the copy that v5
// compiles.
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
	if err := checkCycles(b.nodes); err != nil {
		return nil, nil, err
	}
	for _, n := range b.nodes {
		if err := n.checkRequired(); err != nil && r == input {
			return nil, nil, err
		}
	}
	s = &Schema{
		raw: slices.Clone(raw), nodes: b.nodes, byAddress: b.byAddress, role: r, warnings: b.warnings, compiles: b.compiles(),
	}
	for _, n := range b.nodes {
		n.rules = rulesOf(n, b.draft, b.patterns)
		n.shown = nil
	}
	return s, shown, nil
}

// checkTexts refuses a schema if any text in it has characters that a person
// does not see but a model reads: models are given the whole schema. It accepts
// control characters, which JSON can only contain as visible escapes; some
// enums list line endings.
func checkTexts(doc any) error {
	switch doc := doc.(type) {
	case string:
		if r, found := sanitize.Hidden(strings.Map(withoutControls, doc)); found {
			from := max(0, strings.IndexRune(doc, r)-maxValueLength/2)
			text := sanitize.Quote(strings.ToValidUTF8(doc[from:], ""), maxValueLength)
			return fmt.Errorf("the text %s has a hidden character, %U: leave it out, or write \\x{%X} in a pattern",
				text, r, r)
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

// checkRoot checks what models and user interfaces expect of an input schema.
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

// checkRequired refuses a required name that an object inside of an input does not describe: it is misspelled.
// The root is in [checkRoot]. Where another subschema may describe the same object, nothing is refused.
func (n *node) checkRequired() error {
	if n.parent == nil || len(n.named) == 0 || len(n.patterns) > 0 || !n.describesAlone() ||
		slices.ContainsFunc(n.others, func(o *node) bool { return !o.never }) {
		return nil
	}
	required, _ := n.keys["required"].([]any)
	for _, v := range required {
		if name, ok := v.(string); ok && n.named[name] == nil {
			return fmt.Errorf("required name %s is not among the properties at %s", quote(name), quote(n.address))
		}
	}
	return nil
}

// describesAlone reports whether no other subschema is applied to the same value.
func (n *node) describesAlone() bool {
	for at := n; at != nil; at = at.parent {
		if len(at.inPlace) > 0 || at.ref != nil || jsontree.Keywords[at.via].Place == jsontree.InPlace ||
			at.via == "$defs" || at.via == "definitions" {
			return false
		}
	}
	return true
}

// compileV5 compiles the copy of a schema with v5. Errors at this stage are
// beyond the shapes checked before, such as a keyword that only some drafts
// allow.
func compileV5(shown any) (s *jsonschema.Schema, err error) {
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
	c.AssertFormat = true // the same in every draft; v5 would do so only without $schema
	c.RegisterExtension(uniqueKeyword, nil, uniqueItems{})
	c.RegisterExtension(neverKeyword, nil, never{})
	for _, name := range []string{"duration", "period"} {
		c.Formats[name] = short(jsonschema.Formats[name])
	}
	c.Formats["regex"] = short(isRegex)
	c.Formats["uri-template"] = isURITemplate
	if err := c.AddResource(base, bytes.NewReader(text)); err != nil {
		return nil, fmt.Errorf("the schema does not compile: %w", err)
	}
	s, err = c.Compile(base)
	if err != nil {
		if fault, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
			for len(fault.Causes) > 0 {
				fault = fault.Causes[0]
			}
			return nil, fmt.Errorf("the schema does not compile: its draft does not allow what is at #%s",
				cut(fault.InstanceLocation, maxProblemLength))
		}
		return nil, fmt.Errorf("the schema does not compile: %w", err)
	}
	return s, nil
}

// maxShort is the size limit, in bytes, for formats whose check takes more than
// linear time.
const maxShort = 256

// short makes a format reject longer texts.
func short(format func(any) bool) func(any) bool {
	return func(v any) bool {
		if s, ok := v.(string); ok && len(s) > maxShort {
			return false
		}
		return format(v)
	}
}

// Text returns a copy of the schema as it was given. For an empty input schema,
// it returns the schema that allows no arguments.
func (s *Schema) Text() json.RawMessage { return slices.Clone(s.raw) }

// Warnings returns one line for each part of the schema that Check does not
// judge, and that a model has to keep to by itself: at most 20.
func (s *Schema) Warnings() []string { return slices.Clone(s.warnings) }

// Check validates JSON text against the schema. It treats empty text as {}.
//
// A check that may take longer than some tens of milliseconds waits for other
// such checks, which together use at most half of the processors. It ends soon
// after ctx: v5 is not interrupted, but is given only work of about half a
// second.
//
// # Errors
//
//   - a [*Violation] that describes the problems in a form suitable for a model
//   - a [*LimitError] if the check would take too long
//   - an error that wraps that of ctx, if ctx ended first
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

// check continues [Schema.Check] if the text judge did not accept the text with
// little effort.
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
		// In older drafts, a $ref at the root disables the "type" next to it.
		return &Violation{Problems: []string{"arguments must be an object, got " + typeName(v)}}
	}
	m := meter{task: t}
	m.visit(s.nodes[0], v, depth{})
	switch {
	case t.err != nil:
		return t.err
	case m.over():
		return &LimitError{s.role.whole}
	case m.heavy() && !t.heavy():
		return t.err
	}
	return s.judge(v)
}

// judge validates v with v5 and converts its error.
func (s *Schema) judge(v any) (err error) {
	defer func() {
		if recover() != nil {
			err = &Violation{
				Problems: []string{"the " + s.role.whole + " could not be checked: the validator failed"},
			}
		}
	}()
	v5, err := s.v5()
	if err != nil {
		panic(err)
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
