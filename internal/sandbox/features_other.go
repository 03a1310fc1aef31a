//go:build !linux || !(amd64 || arm64)

package sandbox

// Detect returns what this system has: nothing.
func Detect() Features { return Features{} }
