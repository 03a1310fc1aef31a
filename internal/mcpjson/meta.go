package mcpjson

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	fast "github.com/segmentio/encoding/json"

	"github.com/toolhost/toolhost/internal/mcpmeta"
)

// Starting is the member of a list's "_meta" that says that plugins are still being started, so that it may be short: their
// names, or true.
const Starting = "toolhost/starting"

// Icons, annotations and "_meta" of tools and results pass as the plugin or server wrote them,
// numbers and the order of keys included.

// Members are the members of a content block that a [tool.Content] has as its Extra.
type Members struct {
	Annotations json.RawMessage `json:"annotations,omitempty"`
	Meta        json.RawMessage `json:"_meta,omitempty"`
	Title       json.RawMessage `json:"title,omitempty"`
	Size        json.RawMessage `json:"size,omitempty"`
	Icons       json.RawMessage `json:"icons,omitempty"`
	// Inside is the "_meta" of the resource that the block has.
	Inside json.RawMessage `json:"-"`
}

// extraJSON is the Extra of a block.
type extraJSON struct {
	Members
	Resource *resourceMeta `json:"resource,omitempty"`
}

type resourceMeta struct {
	Meta json.RawMessage `json:"_meta,omitempty"`
}

// MembersOf returns the members for clients; nil: there are none.
func MembersOf(e string) *Members {
	if e == "" {
		return nil
	}
	var in extraJSON
	if json.Unmarshal([]byte(e), &in) != nil { // the host has checked it
		return nil
	}
	m := &in.Members
	m.Meta = Unreserved(m.Meta)
	if in.Resource != nil {
		m.Inside = Unreserved(in.Resource.Meta)
	}
	return m
}

// extra returns the members of a block of a server as its Extra. One that is wrong is left out.
func (m *Members) extra(kind string) string {
	if m.Annotations == nil && m.Meta == nil && m.Inside == nil && kind != "resource_link" {
		return ""
	}
	right := func(members extraJSON) (string, bool) {
		b, err := json.Marshal(members)
		return string(b), err == nil && len(b) > len("{}") && mcpmeta.CheckExtra(string(b)) == nil
	}
	var out extraJSON
	add := func(to *json.RawMessage, value json.RawMessage) {
		before := *to
		if *to = Present(value); *to == nil {
			return
		}
		if _, ok := right(out); !ok {
			*to = before
		}
	}
	add(&out.Annotations, m.Annotations)
	add(&out.Meta, Unreserved(m.Meta))
	switch kind {
	case "resource_link":
		add(&out.Title, m.Title)
		add(&out.Size, m.Size)
		add(&out.Icons, m.Icons)
	case "resource":
		inside := resourceMeta{}
		out.Resource = &inside
		if add(&inside.Meta, Unreserved(m.Inside)); inside.Meta == nil {
			out.Resource = nil
		}
	}
	if e, ok := right(out); ok {
		return e
	}
	return ""
}

// Unreserved returns a "_meta" without the keys that the protocol or this server gives a
// meaning: what comes from a plugin or a mounted server is not the word of this one. What is
// not an object, and one that is empty then, is none.
func Unreserved(meta json.RawMessage) json.RawMessage {
	if len(meta) == 0 || mcpmeta.Check(meta) != nil {
		return nil
	}
	all := ObjectOf(meta)
	kept := slices.DeleteFunc(slices.Clone(all), func(m Member) bool { return IsReserved(m.Key) })
	switch {
	case len(kept) == 0:
		return nil
	case len(kept) == len(all):
		return meta
	}
	return EncodeObject(kept)
}

// IsReserved reports whether a key of "_meta" is not for plugins and mounted servers. Prefixes
// with the label modelcontextprotocol or mcp are the protocol's (specification 2025-11-25, basic).
func IsReserved(key string) bool {
	switch strings.ToLower(key) {
	case "progresstoken", "traceparent", "tracestate", "baggage":
		return true
	}
	prefix, _, found := strings.Cut(strings.ToLower(key), "/")
	if !found {
		return false
	}
	return slices.ContainsFunc(strings.Split(prefix, "."), func(label string) bool {
		return label == "modelcontextprotocol" || label == "mcp" || label == "toolhost"
	})
}

// Member is one of an object.
type Member struct {
	Key   string
	Value json.RawMessage
}

// ObjectOf returns the members of an object in their order; nil: it is not one.
func ObjectOf(object json.RawMessage) (out []Member) {
	rest, ok := after(object, '{')
	for ok {
		if _, end := after(rest, '}'); end {
			return out
		}
		if out != nil {
			if rest, ok = after(rest, ','); !ok {
				return nil
			}
		}
		var m Member
		var err error
		if rest = bytes.TrimLeft(rest, space); !bytes.HasPrefix(rest, []byte{'"'}) {
			return nil
		}
		if rest, err = fast.Parse(rest, &m.Key, 0); err != nil {
			return nil
		}
		if rest, ok = after(rest, ':'); !ok {
			return nil
		}
		if rest, err = fast.Parse(rest, &m.Value, 0); err != nil {
			return nil
		}
		out = append(out, m)
	}
	return nil
}

const space = " \t\r\n"

// after returns what follows a character, before which only space may be.
func after(text []byte, c byte) (rest []byte, ok bool) {
	return bytes.CutPrefix(bytes.TrimLeft(text, space), []byte{c})
}

// EncodeObject returns the object that has these members.
func EncodeObject(all []Member) json.RawMessage {
	out := []byte{'{'}
	for i, m := range all {
		if i > 0 {
			out = append(out, ',')
		}
		key, _ := json.Marshal(m.Key) // a string
		out = append(append(append(out, key...), ':'), m.Value...)
	}
	return append(out, '}')
}
