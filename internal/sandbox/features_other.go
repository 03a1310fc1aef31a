//go:build !linux || !(amd64 || arm64)

package sandbox

import "runtime"

// Detect returns what this system has.
func Detect() (Features, error) { return Features{Jobs: runtime.GOOS == "windows"}, nil }
