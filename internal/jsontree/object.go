package jsontree

import (
	"encoding/json"
	"slices"
	"strconv"
)

// Object is a JSON object in the order of its text: a model reads a schema from the top. A nil
// Object has no members.
type Object struct{ Members []Member }

// Member is a member of an [Object]. Its value is an *Object, an []any of such values, or else a
// [json.RawMessage], as written.
type Member struct {
	Name  string
	Value any
}

// Of returns an object with one member.
func Of(name string, value any) *Object {
	o := &Object{}
	o.Set(name, value)
	return o
}

// All returns the members.
func (o *Object) All() []Member {
	if o == nil {
		return nil
	}
	return o.Members
}

func (o *Object) index(name string) int {
	return slices.IndexFunc(o.All(), func(m Member) bool { return m.Name == name })
}

// Get returns the value of a member, or nil if o does not have it.
func (o *Object) Get(name string) any {
	if i := o.index(name); i >= 0 {
		return o.Members[i].Value
	}
	return nil
}

// Has reports whether o has a member, which may be null.
func (o *Object) Has(name string) bool { return o.index(name) >= 0 }

// Object returns the member of that name if it is an object, or else nil.
func (o *Object) Object(name string) *Object {
	v, _ := o.Get(name).(*Object)
	return v
}

// List returns the member of that name if it is an array, or else nil.
func (o *Object) List(name string) []any {
	v, _ := o.Get(name).([]any)
	return v
}

// Text returns the member of that name if it is a string, or else "".
func (o *Object) Text(name string) string { return Text(o.Get(name)) }

// Texts returns the strings in the array of that name, with "" for anything else in it.
func (o *Object) Texts(name string) []string {
	var out []string
	for _, v := range o.List(name) {
		out = append(out, Text(v))
	}
	return out
}

// Types returns the names in "type", which is one name or an array of them; nil: it is neither.
func (o *Object) Types() []string {
	if name := o.Text("type"); name != "" {
		return []string{name}
	}
	return o.Texts("type")
}

// Number returns the member of that name if it is a number.
func (o *Object) Number(name string) (n float64, ok bool) {
	raw, _ := o.Get(name).(json.RawMessage)
	return n, len(raw) > 0 && raw[0] != 'n' && json.Unmarshal(raw, &n) == nil
}

// Set replaces the value of a member, or appends it. A string, a bool or a []string is written as
// JSON; any other value is one of a [Member].
func (o *Object) Set(name string, value any) {
	switch v := value.(type) {
	case string:
		value = quote(v)
	case bool:
		value = json.RawMessage(strconv.FormatBool(v))
	case []string:
		list := make([]any, len(v))
		for i, s := range v {
			list[i] = quote(s)
		}
		value = list
	}
	if i := o.index(name); i >= 0 {
		o.Members[i].Value = value
		return
	}
	o.Members = append(o.Members, Member{name, value})
}

// Drop removes members and reports whether there was one.
func (o *Object) Drop(names ...string) bool {
	return o.DropFunc(func(name string) bool { return slices.Contains(names, name) })
}

// DropFunc removes the members of the names for which drop reports true, and reports whether there
// was one.
func (o *Object) DropFunc(drop func(name string) bool) bool {
	before := len(o.Members)
	o.Members = slices.DeleteFunc(o.Members, func(m Member) bool { return drop(m.Name) })
	return len(o.Members) < before
}

// Rename gives a member another name, in its place.
func (o *Object) Rename(from, to string) {
	if i := o.index(from); i >= 0 {
		o.Members[i].Name = to
	}
}
