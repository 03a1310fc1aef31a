package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/trusted"
)

// Variable is a value, or where it comes from.
//
// It is one variable of an environment, which prints its name and its source. Only
// [Variable.Resolve] returns the value.
type Variable struct {
	Name string `json:"-"`
	// FromEnv is the variable of the host's environment that has the value.
	FromEnv string `json:"from_env,omitempty" is:"from_env" example:"HOME"`
	// FromFile is the file that has the value, at most 64 KiB. A newline at its end is left out. Other users must not
	// be able to write to it.
	FromFile string `json:"from_file,omitempty" is:"path" example:"secrets/token"`

	value *string // a pointer, so that printing a struct that holds a Variable shows an address
}

// Value returns a variable with a value.
func Value(name, value string) Variable { return Variable{Name: name, value: &value} }

// hiddenValue is shown in place of a value.
const hiddenValue = "(hidden)"

// source describes where the value comes from.
func (v Variable) source() string {
	switch {
	case v.FromEnv != "":
		return "from the variable " + v.FromEnv
	case v.FromFile != "":
		return "from the file " + v.FromFile
	}
	return hiddenValue
}

// String returns the name and the source.
func (v Variable) String() string { return v.Name + "=" + v.source() }

// GoString returns what String does.
func (v Variable) GoString() string { return fmt.Sprintf("config.Variable(%q)", v.String()) }

// IsZero reports whether the variable has no value and no reference.
func (v Variable) IsZero() bool { return v.value == nil && v.FromEnv == "" && v.FromFile == "" }

// equal reports whether two variables are set in the same way.
func (v Variable) equal(w Variable) bool {
	return reflect.DeepEqual(v, w)
}

// Environment are variables, sorted by name.
type Environment []Variable

// MarshalJSON hides a value and shows a reference.
func (v Variable) MarshalJSON() ([]byte, error) {
	if v.FromEnv == "" && v.FromFile == "" {
		return json.Marshal(hiddenValue)
	}
	type plain Variable // without this method
	return json.Marshal(plain(v))
}

// MarshalJSON writes an object that hides values and shows references.
func (e Environment) MarshalJSON() ([]byte, error) {
	shown := make(map[string]Variable, len(e))
	for _, v := range e {
		shown[v.Name] = v
	}
	return json.Marshal(shown)
}

// UnmarshalJSON reads a value, or an object with the reference.
func (v *Variable) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		v.value = new(string)
		return json.Unmarshal(text, v.value)
	}
	type plain Variable // without this method
	return json.Unmarshal(text, (*plain)(v))
}

// UnmarshalJSON adds variables to those that are there already, which are those of the
// defaults.
func (e *Environment) UnmarshalJSON(text []byte) error {
	var all map[string]Variable
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	for name, v := range all {
		v.Name = name
		*e = e.set(v)
	}
	return nil
}

// Equal reports whether two environments are set in the same way. It does not follow
// references.
func (e Environment) Equal(other Environment) bool { return slices.EqualFunc(e, other, Variable.equal) }

// With returns e with the variable added or replaced.
func (e Environment) With(v Variable) Environment { return e.set(v) }

// set returns e with the variable added or replaced.
func (e Environment) set(v Variable) Environment {
	at, found := slices.BinarySearchFunc(e, v, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) })
	out := slices.Clone(e)
	if found {
		out[at] = v
		return out
	}
	return slices.Insert(out, at, v)
}

// maxValue bounds the value of a variable, in bytes. Linux refuses those beyond 128 KiB.
const maxValue = 64 << 10

// Resolve returns the variable as NAME=value. Lookup finds variables of the host, as
// [os.LookupEnv] does. Files are read with [trusted.Read].
//
// # Errors
//
// Why a reference cannot be resolved, with the names of the variable and of what it refers
// to. No error contains a value.
func (v Variable) Resolve(lookup func(string) (string, bool)) (string, error) {
	value, err := v.Text(lookup)
	if err != nil {
		return "", fmt.Errorf("the variable %s cannot be set: %w", v.Name, err)
	}
	return v.Name + "=" + value, nil
}

// Text returns the value alone, as Resolve does.
func (v Variable) Text(lookup func(string) (string, bool)) (string, error) {
	switch {
	case v.FromEnv != "":
		value, ok := lookup(v.FromEnv)
		switch {
		case !ok:
			return "", fmt.Errorf("%s is not set in the environment of this process (set it, or change from_env)", v.FromEnv)
		case len(value) > maxValue:
			return "", fmt.Errorf("the value of %s has more than %d bytes", v.FromEnv, maxValue)
		}
		return value, nil
	case v.FromFile != "":
		content, err := trusted.Read(v.FromFile, maxValue)
		if err != nil {
			return "", err
		}
		if bytes.IndexByte(content, 0) >= 0 {
			return "", fmt.Errorf("its value has a NUL character (%s)", v.source())
		}
		return strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r"), nil
	case v.value != nil:
		return *v.value, nil
	}
	return "", nil
}
