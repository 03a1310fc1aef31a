package schema

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// uniqueKeyword is v5's name for our implementation of uniqueItems. v5's own
// implementation compares all items that have the same hash with each other,
// and collisions are easy to make: 90 KB of nested arrays keep it busy for
// seconds.
const uniqueKeyword = "toolhost:uniqueItems"

// uniqueItems implements the keyword as an extension of v5.
type uniqueItems struct{}

// Compile implements [jsonschema.ExtCompiler].
func (u uniqueItems) Compile(_ jsonschema.CompilerContext, keys map[string]any) (jsonschema.ExtSchema, error) {
	if keys[uniqueKeyword] != true {
		return nil, nil
	}
	return u, nil
}

// Validate implements [jsonschema.ExtSchema].
func (uniqueItems) Validate(ctx jsonschema.ValidationContext, v any) error {
	items, ok := v.([]any)
	if !ok {
		return nil
	}
	if _, _, twice := repeated(items, nil); twice {
		return ctx.Error("uniqueItems", "repeated")
	}
	return nil
}

// repeated finds the first item that equals an earlier one, unless the task ends.
func repeated(items []any, t *task) (first, second int, ok bool) {
	seen := make(map[string]int, len(items))
	var form []byte
	for i, item := range items {
		if t.ended(1 + len(form)/stepText) {
			break
		}
		form = appendForm(form[:0], item)
		if first, ok := seen[string(form)]; ok {
			return first, i, true
		}
		seen[string(form)] = i
	}
	return 0, 0, false
}

// appendForm appends a canonical form of a value: two values have the same
// bytes if and only if they are equal. 1 equals 1.0, and the order of members
// is irrelevant.
func appendForm(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, 'n')
	case bool:
		if v {
			return append(b, 't')
		}
		return append(b, 'f')
	case json.Number:
		d := decimalOf(v)
		if d.negative {
			b = append(b, '-')
		}
		b = appendText(append(b, '#'), d.digits)
		return binary.AppendVarint(b, int64(d.exponent))
	case string:
		return appendText(append(b, '"'), v)
	case []any:
		b = binary.AppendUvarint(append(b, '['), uint64(len(v)))
		for _, item := range v {
			b = appendForm(b, item)
		}
	case map[string]any:
		b = binary.AppendUvarint(append(b, '{'), uint64(len(v)))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b = appendForm(appendText(b, key), v[key])
		}
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
