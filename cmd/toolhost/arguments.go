package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxArguments bounds what is read as arguments, in bytes.
const maxArguments = 16 << 20

// readArguments gets the text of the arguments from where the command line says.
// It is not looked at: the host says what is wrong with it.
func (a *app) readArguments(ctx context.Context, source []string) ([]byte, error) {
	if len(source) == 0 {
		return nil, nil
	}
	switch word := source[0]; {
	case word == "-":
		return await(ctx, func() ([]byte, error) { return readBounded("standard input", a.stdin) })
	case strings.HasPrefix(word, "@"):
		f, err := os.Open(word[1:])
		if err != nil {
			return nil, usage(fmt.Sprintf("the arguments cannot be read: %v", err), "@FILE names a file, relative to the current directory")
		}
		defer func() { _ = f.Close() }()
		return await(ctx, func() ([]byte, error) { return readBounded(word[1:], f) })
	default:
		return []byte(word), nil
	}
}

func readBounded(name string, r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxArguments+1))
	switch {
	case err != nil:
		return nil, usage(fmt.Sprintf("the arguments cannot be read from %s: %v", name, err), "")
	case len(text) > maxArguments:
		return nil, tool.Errorf(tool.CodeResourceExhausted, "the arguments in %s are longer than %d MiB", name, maxArguments>>20)
	}
	return text, nil
}

// await runs f no longer than ctx. A read from a terminal or a pipe cannot be
// ended in all systems; where ctx ends first, f is left behind, as is all of
// this process soon.
func await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		v, err := f()
		done <- answer{v, err}
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, tool.Errorf(tool.CodeCanceled, "ended while waiting for input: %w", context.Cause(ctx))
	}
}

// pairs are single arguments, by name.
type pairs map[string]string

func parsePairs(words []string) (pairs, error) {
	out := make(pairs, len(words))
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok || name == "" {
			return nil, usage(fmt.Sprintf("--arg %q is no name=value", w), "write --arg path=README.md")
		}
		if _, twice := out[name]; twice {
			return nil, usage(fmt.Sprintf("--arg %s is given twice", name), "give a list as JSON, such as --arg 'names=[\"a\",\"b\"]'")
		}
		out[name] = value
	}
	return out, nil
}

// over sets the pairs in the object that text is. A text that is no object
// stays as it is, for the host to refuse.
func (p pairs) over(text []byte, schema tool.Schema) json.RawMessage {
	if len(p) == 0 {
		return text
	}
	object := map[string]json.RawMessage{}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &object); err != nil || object == nil {
			return text
		}
	}
	types := propertyTypes(schema)
	for name, value := range p {
		object[name] = types.value(name, value)
	}
	out, err := json.Marshal(object)
	if err != nil {
		return text
	}
	return out
}

// properties are the types that a schema allows for each argument: none where
// it does not say.
type properties map[string][]string

// value is a value from the command line as JSON. What does not fit becomes a
// string, so that the host says what is wrong with it.
func (p properties) value(name, text string) json.RawMessage {
	types, known := p[name]
	if known && !slices.Contains(types, "string") && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text) // a string always can be
	return quoted
}

// propertyTypes reads what is needed of a schema. One that says it in another
// way leaves the types open.
func propertyTypes(schema tool.Schema) properties {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	out := properties{}
	if err := json.Unmarshal(schema, &s); err != nil {
		return out
	}
	for name, text := range s.Properties {
		out[name] = typesOf(text)
	}
	return out
}

// typesOf reads "type", which is a string or a list of them.
func typesOf(property json.RawMessage) []string {
	var s struct {
		Type json.RawMessage `json:"type"`
	}
	if json.Unmarshal(property, &s) != nil {
		return nil // a schema may be true or false
	}
	var one string
	if json.Unmarshal(s.Type, &one) == nil {
		return []string{one}
	}
	var several []string
	_ = json.Unmarshal(s.Type, &several) // neither: it does not say
	return several
}
