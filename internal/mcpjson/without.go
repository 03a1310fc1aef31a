package mcpjson

import (
	"bytes"
	"encoding/json"
)

// Scrubbed returns JSON of a mounted server without the reserved keys of any "_meta" in it.
func Scrubbed(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte("_meta")) && !bytes.Contains(raw, []byte(`\u`)) {
		return raw
	}
	out, dropped := Without(raw, func(in, key string) bool { return in == "_meta" && IsReserved(key) })
	if !dropped { // or what the SDK has read cannot be
		return raw
	}
	return out
}

// Without returns JSON without the members of objects that drop reports, of which it is told the
// key of the object itself, too; all else stays, in its order. Nil: it cannot be read.
func Without(text json.RawMessage, drop func(in, key string) bool) (out json.RawMessage, dropped bool) {
	c := &copier{dec: json.NewDecoder(bytes.NewReader(text)), drop: drop}
	c.dec.UseNumber()
	if c.value("") != nil {
		return nil, false
	}
	return c.out.Bytes(), c.dropped
}

type copier struct {
	dec     *json.Decoder
	drop    func(in, key string) bool
	out     bytes.Buffer
	dropped bool
}

// value copies the next value, which has a key.
func (c *copier) value(in string) error {
	t, err := c.dec.Token()
	if err != nil {
		return err
	}
	open, ok := t.(json.Delim)
	if !ok {
		return c.scalar(t)
	}
	c.out.WriteString(open.String())
	for first := true; c.dec.More(); {
		key := ""
		if open == '{' {
			t, err := c.dec.Token()
			if err != nil {
				return err
			}
			if key, _ = t.(string); c.drop(in, key) {
				var value json.RawMessage
				if err := c.dec.Decode(&value); err != nil {
					return err
				}
				c.dropped = true
				continue
			}
		}
		if !first {
			c.out.WriteByte(',')
		}
		first = false
		if open == '{' {
			if err := c.scalar(key); err != nil {
				return err
			}
			c.out.WriteByte(':')
		}
		if err := c.value(key); err != nil {
			return err
		}
	}
	end, err := c.dec.Token()
	if err != nil {
		return err
	}
	c.out.WriteString(end.(json.Delim).String()) //nolint:forcetypeassert // More reported the end of the value
	return nil
}

func (c *copier) scalar(v any) error {
	b, err := json.Marshal(v)
	c.out.Write(b)
	return err
}
