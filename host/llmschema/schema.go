package llmschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// noArguments is the schema of a tool without an input schema: the host rejects
// any argument for such a tool.
const noArguments = `{"type":"object","properties":{},"additionalProperties":false}`

// object is a JSON object that keeps the order of its members: a model reads a
// schema from the top.
type object []member

type member struct {
	name  string
	value json.RawMessage
}

// inputSchema returns the input schema of d.
func inputSchema(d tool.Definition) (object, error) {
	text := d.InputSchema
	if len(text) == 0 {
		text = tool.Schema(noArguments)
	}
	var o object
	err := json.Unmarshal(text, &o)
	return o, err
}

// get returns the value of a member, or nil if o does not have it.
func (o object) get(name string) json.RawMessage {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// without returns o without the members of that name.
func (o object) without(name string) object {
	return slices.DeleteFunc(slices.Clone(o), func(m member) bool { return m.name == name })
}

// withDefault returns o with this member added, unless o has one of that name.
func (o object) withDefault(name, value string) object {
	if o.get(name) != nil {
		return o
	}
	return append(slices.Clip(o), member{name, json.RawMessage(value)})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (o *object) UnmarshalJSON(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return errors.Join(errors.New("the schema does not begin with {"), err)
	}
	*o = object{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		m := member{name: key.(string)} // the only token possible here in an object
		if err := dec.Decode(&m.value); err != nil {
			return err
		}
		*o = append(*o, m)
	}
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := encode(m.name, "")
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
