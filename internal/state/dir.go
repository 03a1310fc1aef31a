// Package state keeps what toolhost has to know about a user from one run to the next:
// small JSON files in the user's state directory. Begin with [In].
package state

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// Dir returns toolhost/ in the user's directory for state: $XDG_STATE_HOME if set, else
// ~/.local/state, on macOS ~/Library/Application Support, on Windows %LocalAppData%. It need
// not exist.
//
// # Errors
//
// A plain error if the system does not say where the user's home is.
func Dir() (string, error) {
	dir, err := userDir(runtime.GOOS, os.Getenv, os.UserHomeDir)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "toolhost"), nil
}

func userDir(goos string, getenv func(string) string, home func() (string, error)) (string, error) {
	// A relative one is to be ignored (XDG Base Directory Specification,
	// "Environment variables").
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	if goos == "windows" {
		if dir := getenv("LocalAppData"); dir != "" {
			return dir, nil
		}
		return "", errors.New("%LocalAppData% is not set")
	}
	dir, err := home()
	if err != nil {
		return "", err
	}
	if goos == "darwin" {
		return filepath.Join(dir, "Library", "Application Support"), nil
	}
	return filepath.Join(dir, ".local", "state"), nil
}
