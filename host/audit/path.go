package audit

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// DefaultPath is where a user's log is: audit.jsonl in toolhost/ in the
// directory for state. That is $XDG_STATE_HOME where it is set, else
// ~/.local/state, on macOS ~/Library/Application Support, on Windows
// %LocalAppData%.
//
// # Errors
//
// One where the system does not say where the user's home is.
func DefaultPath() (string, error) {
	dir, err := stateDir(runtime.GOOS, os.Getenv, os.UserHomeDir)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "toolhost", "audit.jsonl"), nil
}

func stateDir(goos string, getenv func(string) string, home func() (string, error)) (string, error) {
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
