package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/trusted"
)

// Variable is one variable of a plugin's environment: a value, or where it comes
// from. What it shows of itself is its name and its source; the value is seen only
// by who calls [Environment.Resolve].
type Variable struct {
	// Name is the variable's.
	Name string
	// FromEnv is the variable of the host's environment that has the value. Empty:
	// another source.
	FromEnv string
	// FromFile is the absolute path of the file that has the value, without the
	// newline at its end. Empty: another source.
	FromFile string

	value *string // behind a pointer, so that printing what holds a Variable shows an address
}

// hiddenValue stands for a value wherever one is shown.
const hiddenValue = "(hidden)"

// source says where the value comes from.
func (v Variable) source() string {
	switch {
	case v.FromEnv != "":
		return "from the variable " + v.FromEnv
	case v.FromFile != "":
		return "from the file " + v.FromFile
	}
	return hiddenValue
}

// String is the name and the source.
func (v Variable) String() string { return v.Name + "=" + v.source() }

// GoString is String.
func (v Variable) GoString() string { return fmt.Sprintf("config.Variable(%q)", v.String()) }

// equal reports whether two variables are set in the same way.
func (v Variable) equal(w Variable) bool {
	same := v.Name == w.Name && v.FromEnv == w.FromEnv && v.FromFile == w.FromFile && (v.value == nil) == (w.value == nil)
	return same && (v.value == nil || *v.value == *w.value)
}

// Environment are variables, sorted by name.
type Environment []Variable

// MarshalJSON writes an object: of values only that there is one, of references
// what they refer to.
func (e Environment) MarshalJSON() ([]byte, error) {
	shown := make(map[string]any, len(e))
	for _, v := range e {
		switch {
		case v.FromEnv != "":
			shown[v.Name] = map[string]string{"from_env": v.FromEnv}
		case v.FromFile != "":
			shown[v.Name] = map[string]string{"from_file": v.FromFile}
		default:
			shown[v.Name] = hiddenValue
		}
	}
	return json.Marshal(shown)
}

// UnmarshalJSON adds variables to those that are there already, the defaults'. Each is a
// value, or an object with the reference.
func (e *Environment) UnmarshalJSON(text []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	for name, one := range all {
		v := Variable{Name: name}
		if one[0] == '"' {
			v.value = new(string)
			if err := json.Unmarshal(one, v.value); err != nil {
				return err
			}
		} else {
			var from struct {
				Env  string `json:"from_env"`
				File string `json:"from_file"`
			}
			if err := json.Unmarshal(one, &from); err != nil {
				return err
			}
			v.FromEnv, v.FromFile = from.Env, from.File
		}
		*e = e.set(v)
	}
	return nil
}

// Equal reports whether two environments are set in the same way. What the
// references lead to is not looked at.
func (e Environment) Equal(other Environment) bool { return slices.EqualFunc(e, other, Variable.equal) }

// set is e with the variable added, or put in the place of its namesake.
func (e Environment) set(v Variable) Environment {
	at, found := slices.BinarySearchFunc(e, v, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) })
	out := slices.Clone(e)
	if found {
		out[at] = v
		return out
	}
	return slices.Insert(out, at, v)
}

// maxValue bounds the value of a variable, in bytes: what Linux gives a process is
// refused beyond 128 KiB.
const maxValue = 64 << 10

// Resolve is the environment as NAME=value. Lookup finds variables of the host's, as
// [os.LookupEnv] does. Files are read as [trusted.Read] does.
//
// # Errors
//
// The first reference that leads to nothing usable, by the names of the variable and
// of what it refers to. No error has a value in it.
func (e Environment) Resolve(lookup func(string) (string, bool)) ([]string, error) {
	out := make([]string, 0, len(e))
	for _, v := range e {
		value, err := v.resolve(lookup)
		if err != nil {
			return nil, err
		}
		if strings.ContainsRune(value, 0) {
			return nil, fmt.Errorf("the variable %s cannot be set: its value has a NUL character (%s)", v.Name, v.source())
		}
		out = append(out, v.Name+"="+value)
	}
	return out, nil
}

func (v Variable) resolve(lookup func(string) (string, bool)) (string, error) {
	switch {
	case v.FromEnv != "":
		value, ok := lookup(v.FromEnv)
		if !ok {
			return "", fmt.Errorf("the variable %s cannot be set: %s is not set in the environment of this process (set it, or change from_env)", v.Name, v.FromEnv)
		}
		if len(value) > maxValue {
			return "", fmt.Errorf("the variable %s cannot be set: the value of %s has more than %d bytes", v.Name, v.FromEnv, maxValue)
		}
		return value, nil
	case v.FromFile != "":
		content, err := trusted.Read(v.FromFile, maxValue)
		if err != nil {
			return "", fmt.Errorf("the variable %s cannot be set: %w", v.Name, err)
		}
		return strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r"), nil
	case v.value != nil:
		return *v.value, nil
	}
	return "", nil
}
