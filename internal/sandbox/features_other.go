//go:build !linux || !(amd64 || arm64)

package sandbox

// Detect returns what this system has.
func Detect() (Features, error) { return Features{}, nil }
