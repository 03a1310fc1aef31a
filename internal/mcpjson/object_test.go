package mcpjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// The members of an object are those that encoding/json finds, in their order.
func FuzzObjectOf(f *testing.F) {
	for _, s := range []string{
		`{}`, ` { "a" : 1 , "b":[{"c":"}"}], "a":null}`, `{"a":1,}`, `{"a":1 "b":2}`, `{,"a":1}`, `{"a"}`, `{"a":}`, `{a:1}`, `[1]`, `"{"`, `null`,
		``, `{`, `{"a":1`, `{"\u0061\n":"\ud800"}`, "{\"\xff\":\"\xff\"}", `{"a":01}`, `{"a":1}{`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, object []byte) {
		if got, want := ObjectOf(object), tokens(object); !reflect.DeepEqual(got, want) {
			t.Errorf("%q has %q, and not %q", object, want, got)
		}
	})
}

func tokens(object []byte) (out []Member) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil
		}
		m := Member{}
		if m.Key, _ = key.(string); dec.Decode(&m.Value) != nil {
			return nil
		}
		out = append(out, m)
	}
	if t, err := dec.Token(); err != nil || t != json.Delim('}') {
		return nil
	}
	return out
}
