package tool

import (
	"fmt"
)

// Safety is how much harm a tool can do. The levels are ordered: a higher one is more
// harmful.
type Safety int8

const (
	// Unset is the zero value. It counts as [Dangerous].
	Unset Safety = iota
	// Safe tools only read.
	Safe
	// Cautious tools make changes that can be undone, or run code that the caller
	// supplies.
	Cautious
	// Dangerous tools destroy, send or spend something. Each call needs approval.
	Dangerous
)

var safetyNames = [...]string{Unset: "", Safe: "safe", Cautious: "cautious", Dangerous: "dangerous"}

// ParseSafety parses "safe", "cautious" (or its older name "moderate") or "dangerous".
// The empty string gives [Unset].
//
// # Errors
//
// [CodeInvalidDefinition] for any other text.
func ParseSafety(s string) (Safety, error) {
	if s == "moderate" {
		return Cautious, nil
	}
	for level, name := range safetyNames {
		if s == name {
			return Safety(level), nil
		}
	}
	return Unset, Errorf(CodeInvalidDefinition, "unknown safety level %q", s).Try("use safe, cautious or dangerous")
}

// valid reports whether s is one of the levels, including [Unset].
func (s Safety) valid() bool { return s >= Unset && s <= Dangerous }

// Effective returns s, or [Dangerous] if s is [Unset] or not valid.
func (s Safety) Effective() Safety {
	if s == Unset || !s.valid() {
		return Dangerous
	}
	return s
}

// String returns the name of the level, which is empty for [Unset].
func (s Safety) String() string {
	if !s.valid() {
		return fmt.Sprintf("Safety(%d)", int8(s))
	}
	return safetyNames[s]
}

// MarshalText encodes the level as its name.
func (s Safety) MarshalText() ([]byte, error) {
	if !s.valid() {
		return nil, fmt.Errorf("safety level %d out of range", int8(s))
	}
	return []byte(safetyNames[s]), nil
}

// UnmarshalText decodes a name that [ParseSafety] accepts.
func (s *Safety) UnmarshalText(b []byte) error {
	level, err := ParseSafety(string(b))
	if err == nil {
		*s = level
	}
	return err
}
