//go:build !linux || !(amd64 || arm64)

package sandbox

// Detect returns what this system has.
func Detect() (Features, error) { return Features{}, nil }

// Remember does nothing here.
func Remember(string) {}

// Doubt does nothing here.
func Doubt() bool { return false }
