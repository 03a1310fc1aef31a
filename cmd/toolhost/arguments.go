package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/terminal"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxArguments bounds the text of arguments, in bytes.
const maxArguments = 16 << 20

// readArguments reads the text of the arguments from where the command line says. It does not
// check the text: the host does.
func readArguments(ctx context.Context, stdin io.Reader, source []string) ([]byte, error) {
	if len(source) == 0 {
		return nil, nil
	}
	switch word := source[0]; {
	case word == "-":
		return terminal.Await(ctx, func() ([]byte, error) { return readBounded("standard input", stdin) })
	case strings.HasPrefix(word, "@"):
		f, err := os.Open(word[1:])
		if err != nil {
			return nil, exit.Usage(fmt.Sprintf("the arguments cannot be read: %v", err),
				"@FILE names a file, relative to the current directory")
		}
		defer func() { _ = f.Close() }()
		return terminal.Await(ctx, func() ([]byte, error) { return readBounded(word[1:], f) })
	default:
		return []byte(word), nil
	}
}

func readBounded(name string, r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxArguments+1))
	switch {
	case err != nil:
		return nil, exit.Usage(fmt.Sprintf("the arguments cannot be read from %s: %v", name, err), "")
	case len(text) > maxArguments:
		return nil, tool.Errorf(tool.CodeResourceExhausted, "the arguments in %s are longer than %d MiB", name, maxArguments>>20)
	}
	return text, nil
}

// pairs are single arguments, by name.
type pairs map[string]string

func parsePairs(words []string) (pairs, error) {
	out := make(pairs, len(words))
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok || name == "" {
			return nil, exit.Usage(fmt.Sprintf("--arg %q is not of the form name=value", w), "write --arg path=README.md")
		}
		if _, twice := out[name]; twice {
			return nil, exit.Usage(fmt.Sprintf("--arg %s is given twice", name),
				"give a list as JSON, such as --arg 'names=[\"a\",\"b\"]'")
		}
		out[name] = value
	}
	return out, nil
}

// over sets the pairs in the object in text. A text that is not an object stays as it is: the
// host refuses it.
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

// properties are the types that a schema allows for each argument; none if it does not say.
type properties map[string][]string

// value returns a value of the command line as JSON. A value that does not fit the schema
// becomes a string, so that the host reports it.
func (p properties) value(name, text string) json.RawMessage {
	types, known := p[name]
	if known && !slices.Contains(types, "string") && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text) // strings can always be encoded
	return quoted
}

// propertyTypes reads the types of a schema's properties. A schema that states them in another
// way leaves them open.
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
	_ = json.Unmarshal(s.Type, &several) // anything else leaves the type open
	return several
}
