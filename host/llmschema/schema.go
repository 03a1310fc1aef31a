package llmschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// noArguments is the schema of a tool that takes none: as the host sees it, that
// means that it refuses any.
const noArguments = `{"type":"object","properties":{},"additionalProperties":false}`

// object is a JSON object with its members in the order in which its author
// wrote them: a model reads a schema from the top.
type object []member

type member struct {
	name  string
	value json.RawMessage
}

// inputSchema is what d says of its arguments.
func inputSchema(d tool.Definition) (object, error) {
	text := d.InputSchema
	if len(text) == 0 {
		text = tool.Schema(noArguments)
	}
	var o object
	err := json.Unmarshal(text, &o)
	return o, err
}

// get is the value of a member; nil: there is none.
func (o object) get(name string) json.RawMessage {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// without is o with no member of that name.
func (o object) without(name string) object {
	return slices.DeleteFunc(slices.Clone(o), func(m member) bool { return m.name == name })
}

// withDefault is o with this member where it has none of that name.
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
		return errors.Join(errors.New("it does not begin with {"), err)
	}
	*o = object{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		m := member{name: key.(string)} // in an object no other token stands here
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
