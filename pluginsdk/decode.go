package pluginsdk

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// decode decodes the arguments of a call. It takes what JSON Schema calls an integer, such
// as 3.0 and 1e2, for a Go integer; encoding/json does not.
//
// # Errors
//
// [tool.CodeInvalidArguments] with the path to a value that fits the schema but not the
// Go type, such as 9223372036854775808 for an int.
func decode[In any](name string, args json.RawMessage) (In, error) {
	in, err := unmarshal[In](args)
	if err != nil {
		return in, invalidCall(name, err)
	}
	return in, nil
}

// misfitError is why a document does not fit a Go type.
type misfitError struct {
	text  string
	cause error
}

func (e *misfitError) Error() string { return e.text }
func (e *misfitError) Unwrap() error { return e.cause }

// unmarshal decodes a document; an empty one is the zero value.
func unmarshal[T any](doc json.RawMessage) (T, error) {
	var v T
	if len(doc) == 0 {
		return v, nil
	}
	err := json.Unmarshal(doc, &v)
	if err == nil {
		return v, nil
	}
	var again T
	if !json.Valid(doc) { // the caller was not a host
		return again, &misfitError{reason(err), err}
	}
	if plain := plainIntegers(doc); plain != nil {
		if err = json.Unmarshal(plain, &again); err == nil {
			return again, nil
		}
		doc = plain
	}
	return again, &misfitError{misfit(reflect.TypeFor[T](), doc, err), err}
}

func invalidCall(name string, err error) error {
	return tool.Errorf(tool.CodeInvalidArguments, "Invalid tool call: %s", err.Error()).
		Of(name, "").At(callstage.Execute).Because(errors.Unwrap(err))
}

// plainIntegers returns a valid JSON text with integers that have a fraction, an exponent or the
// sign of -0 written without, or nil if there are none. It leaves out those that fit no Go
// type.
func plainIntegers(doc []byte) []byte {
	var out []byte
	copied := 0
	for i := 0; i < len(doc); {
		switch c := doc[i]; {
		case c == '"':
			for i++; doc[i] != '"'; i++ {
				if doc[i] == '\\' {
					i++
				}
			}
			i++
		case c == '-' || '0' <= c && c <= '9':
			begin := i
			for i < len(doc) && strings.IndexByte("+-.eE0123456789", doc[i]) >= 0 {
				i++
			}
			literal := string(doc[begin:i])
			if plain, ok := plainInteger(literal); ok && plain != literal {
				out = append(append(out, doc[copied:begin]...), plain...)
				copied = i
			}
		default:
			i++
		}
	}
	if out == nil {
		return nil
	}
	return append(out, doc[copied:]...)
}

// maxDigits is the number of digits of the largest Go integer.
const maxDigits = 20

// plainInteger returns an integer's literal without a fraction and an exponent. It reports
// false if the number is not an integer, or is longer than any Go integer.
func plainInteger(literal string) (string, bool) {
	digits, negative := strings.CutPrefix(literal, "-")
	exponent := 0
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.Atoi(digits[i+1:]); err != nil {
			return "", false
		}
		digits = digits[:i]
	}
	if whole, fraction, ok := strings.Cut(digits, "."); ok {
		digits, exponent = whole+fraction, exponent-len(fraction)
	}
	digits = strings.TrimLeft(digits, "0")
	short := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(short)
	switch {
	case short == "":
		return "0", true
	case exponent < 0 || len(short)+exponent > maxDigits:
		return "", false
	}
	plain := short + strings.Repeat("0", exponent)
	if negative {
		plain = "-" + plain
	}
	return plain, true
}

// misfit says which value does not fit the Go type of the arguments, and why. encoding/json
// says where only for some errors, and not exactly.
func misfit(t reflect.Type, doc json.RawMessage, err error) string {
	f := finder{t, err.Error()}
	path := f.find(doc, "", func(v []byte) []byte { return v })
	if path == "" {
		return reason(err)
	}
	return "invalid value for " + path + ": " + reason(err)
}

// finder finds the value that causes an error of decoding, by decoding each part alone.
type finder struct {
	typ reflect.Type
	err string
}

// find returns the path to the innermost value in v with which alone decoding fails in the
// same way. Around makes the whole document of a part.
func (f finder) find(v json.RawMessage, path string, around func([]byte) []byte) string {
	descend := func(part json.RawMessage, path string, in func([]byte) []byte) (string, bool) {
		outer := func(b []byte) []byte { return around(in(b)) }
		err := json.Unmarshal(outer(part), reflect.New(f.typ).Interface())
		if err == nil || err.Error() != f.err {
			return "", false
		}
		return f.find(part, path, outer), true
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(v, &members) == nil {
		for _, key := range slices.Sorted(maps.Keys(members)) {
			name, _ := json.Marshal(key) // strings never fail
			in := func(b []byte) []byte { return slices.Concat([]byte("{"), name, []byte(":"), b, []byte("}")) }
			if found, ok := descend(members[key], joinPath(path, key), in); ok {
				return found
			}
		}
		return path
	}
	var items []json.RawMessage
	if json.Unmarshal(v, &items) == nil {
		for i, item := range items {
			in := func(b []byte) []byte { return slices.Concat([]byte("["), b, []byte("]")) }
			if found, ok := descend(item, path+"["+strconv.Itoa(i)+"]", in); ok {
				return found
			}
		}
	}
	return path
}

// joinPath appends a name to a path, in quotes if it is not a plain one.
func joinPath(path, key string) string {
	plain := key != "" && len(key) <= 64 && strings.IndexFunc(key, func(r rune) bool {
		return (r < '0' || '9' < r) && (r < 'a' || 'z' < r) && (r < 'A' || 'Z' < r) && r != '_' && r != '-'
	}) < 0
	switch {
	case !plain:
		return path + "[" + strconv.Quote(key[:min(len(key), 64)]) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// maxReason is how many bytes of an error of another package are shown.
const maxReason = 300

// reason says why a value does not fit its Go type, in the words of JSON.
func reason(err error) string {
	var mistyped *json.UnmarshalTypeError
	var corrupt base64.CorruptInputError
	switch {
	case errors.As(err, &corrupt):
		return fmt.Sprintf("is not base64 with padding (RFC 4648): wrong from byte %d on", int64(corrupt))
	case errors.As(err, &mistyped):
		if literal, ok := strings.CutPrefix(mistyped.Value, "number "); ok {
			if limits := limitsOf(mistyped.Type); limits != "" {
				return literal + " is out of range, " + limits
			}
		}
		return "does not fit: a " + mistyped.Value + " was not expected"
	}
	text := strings.TrimPrefix(err.Error(), "json: ")
	return strings.ToValidUTF8(text[:min(len(text), maxReason)], "")
}

// limitsOf returns the range of a Go type of numbers; empty for other types.
func limitsOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		most := int64(1)<<(t.Bits()-1) - 1
		return fmt.Sprintf("from %d to %d", -most-1, most)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return fmt.Sprintf("from 0 to %d", ^uint64(0)>>(64-t.Bits()))
	case reflect.Float32, reflect.Float64:
		return fmt.Sprintf("as it is not a %d-bit number", t.Bits())
	}
	return ""
}
