package control

import (
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// convert copies from a struct of Go to a message, or back, what they have in common, as the names in
// their JSON say: both are pointers. A message may end a name with _json, _bytes, or a unit of time.
// A message in it without a counterpart has fields of the struct itself. A message that is missing has nothing to copy.
func convert(to, from any) {
	if f := reflect.ValueOf(from); !f.IsNil() {
		convertStruct(reflect.ValueOf(to).Elem(), f.Elem())
	}
}

// Message returns a struct of Go as a message.
func Message[M, S any](of *S) *M {
	out := new(M)
	convert(out, of)
	return out
}

// Messages converts a list.
func Messages[M, S any](list []S) []*M {
	out := make([]*M, len(list))
	for i := range list {
		out[i] = Message[M](&list[i])
	}
	return out
}

// Struct returns a message as a struct of Go: zero, if it is missing.
func Struct[S, M any](m *M) (out S) {
	convert(&out, m)
	return out
}

// Structs converts a list back.
func Structs[S, M any](list []*M) []S {
	out := make([]S, len(list))
	for i := range list {
		convert(&out[i], list[i])
	}
	return out
}

// apart is a message without a counterpart that has nothing of the struct itself.
const apart = "claimed"

// pair is two fields that correspond, by their indices.
type pair struct {
	to, from []int         // nil: the struct itself
	unit     time.Duration // of the number that a duration is in the message; 0: there is none, or both are numbers
	empty    bool          // a list without elements is not nil
}

var plans sync.Map // [2]reflect.Type to []pair

func planOf(to, from reflect.Type) []pair {
	key := [2]reflect.Type{to, from}
	if known, ok := plans.Load(key); ok {
		return known.([]pair)
	}
	var plan []pair
	targets, sources := fieldsOf(to), fieldsOf(from)
	for name, t := range targets {
		if s, ok := sources[name]; ok {
			omits := strings.Contains(t.Tag.Get("json"), ",omit")
			plan = append(plan, pair{t.Index, s.Index, t.unit ^ s.unit, t.Type.Kind() == reflect.Slice && !omits})
		} else if isMessage(t.Type) && name != apart {
			plan = append(plan, pair{to: t.Index})
		}
	}
	for name, s := range sources {
		if _, ok := targets[name]; !ok && isMessage(s.Type) && name != apart {
			plan = append(plan, pair{from: s.Index})
		}
	}
	plans.Store(key, plan)
	return plan
}

type field struct {
	reflect.StructField
	unit time.Duration // that its name ends with; 0: none
}

var suffixes = map[string]time.Duration{"_json": 0, "_bytes": 0, "_ms": time.Millisecond, "_ns": 1}

// fieldsOf returns the fields of a struct, and of those that it embeds, by their names in JSON without suffixes.
func fieldsOf(t reflect.Type) map[string]field {
	out := map[string]field{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || !f.IsExported() {
			continue
		}
		one := field{StructField: f}
		for suffix, unit := range suffixes {
			if short, has := strings.CutSuffix(name, suffix); has {
				name, one.unit = short, unit
			}
		}
		out[name] = one
	}
	return out
}

func isMessage(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer && t.Implements(reflect.TypeFor[proto.Message]())
}

func convertStruct(to, from reflect.Value) {
	for _, p := range planOf(to.Type(), from.Type()) {
		switch {
		case p.from == nil:
			f := to.FieldByIndex(p.to)
			f.Set(reflect.New(f.Type().Elem()))
			convertStruct(f.Elem(), from)
		case p.to == nil:
			if f := from.FieldByIndex(p.from); !f.IsNil() {
				convertStruct(to, f.Elem())
			}
		case p.unit != 0:
			convertDuration(to.FieldByIndex(p.to), from.FieldByIndex(p.from), p.unit)
		default:
			t := to.FieldByIndex(p.to)
			if convertValue(t, from.FieldByIndex(p.from)); p.empty && t.IsNil() {
				t.Set(reflect.MakeSlice(t.Type(), 0, 0))
			}
		}
	}
}

// convertDuration rounds up, as 0 has another meaning.
func convertDuration(to, from reflect.Value, unit time.Duration) {
	n, most := from.Int(), math.MaxInt64/int64(unit)
	if to.Type() == reflect.TypeFor[int64]() {
		to.SetInt(n/int64(unit) + min(1, n%int64(unit)))
	} else {
		to.SetInt(min(max(n, -most), most) * int64(unit))
	}
}

func convertValue(to, from reflect.Value) {
	switch v := from.Interface().(type) {
	case time.Time:
		if !v.IsZero() {
			to.Set(reflect.ValueOf(timestamppb.New(v)))
		}
		return
	case *timestamppb.Timestamp:
		if v != nil {
			to.Set(reflect.ValueOf(v.AsTime().Local()))
		}
		return
	}
	switch kind := to.Kind(); {
	case from.Kind() == reflect.Pointer && from.IsNil():
	case from.Kind() == reflect.Pointer && kind == reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		convertValue(to.Elem(), from.Elem())
	case from.Kind() == reflect.Pointer:
		convertValue(to, from.Elem())
	case kind == reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		convertValue(to.Elem(), from)
	case kind == reflect.Struct:
		convertStruct(to, from)
	case kind == reflect.String:
		to.SetString(strings.ToValidUTF8(textOf(from), "\uFFFD"))
	case from.Kind() == reflect.String:
		setText(to, from.String())
	case to.CanInt():
		to.SetInt(min(max(from.Int(), -1<<(to.Type().Bits()-1)), 1<<(to.Type().Bits()-1)-1))
	case kind == reflect.Map:
		to.Set(from) // both are of texts
	case kind == reflect.Slice && to.Type().Elem().Kind() != reflect.Uint8 && from.Len() > 0:
		to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			convertValue(to.Index(i), from.Index(i))
		}
	case kind == reflect.Slice && from.Len() == 0:
	default:
		to.Set(from.Convert(to.Type()))
	}
}

// textOf returns a text, or the word for a value; empty: it is zero.
func textOf(v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Slice:
		return string(v.Bytes())
	}
	if m, ok := v.Interface().(encoding.TextMarshaler); ok && !v.IsZero() {
		text, _ := m.MarshalText() // an unknown value has no word
		return string(text)
	}
	return ""
}

// setText sets what has a text. A word that is not known, as it comes from a newer program, is left out.
func setText(v reflect.Value, text string) {
	switch m := v.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		_ = m.UnmarshalText([]byte(text))
	case *json.RawMessage:
		*m = orNil(text)
	}
}

func orNil(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}
