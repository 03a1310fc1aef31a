// Package state keeps what toolhost has to know about a user from one run to the next:
// small JSON files in the user's state directory. Begin with [In].
package state

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Dir returns toolhost/ in the user's directory for state: $XDG_STATE_HOME if set, else
// ~/.local/state, on macOS ~/Library/Application Support. A system service without a home has
// $STATE_DIRECTORY, see [OfService]. It need not exist.
//
// # Errors
//
// A plain error if the system does not say where the user's home is.
func Dir() (string, error) {
	dir, err := userDir(runtime.GOOS, os.Getenv, os.UserHomeDir)
	if own := OfService("STATE_DIRECTORY"); err != nil && own != "" {
		return own, nil
	}
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "toolhost"), nil
}

// OfService returns the directory that systemd made for a service and names in a variable such
// as STATE_DIRECTORY (systemd.exec(5)), the first if there are several; empty: there is none.
// It only counts for a process without HOME. A command that another service starts for a user
// inherits that service's variables, and must not look there for what the user has pinned and
// disabled.
func OfService(variable string) string {
	if os.Getenv("HOME") != "" {
		return ""
	}
	first, _, _ := strings.Cut(os.Getenv(variable), ":")
	if !filepath.IsAbs(first) {
		return ""
	}
	return first
}

func userDir(goos string, getenv func(string) string, home func() (string, error)) (string, error) {
	// A relative one is to be ignored (XDG Base Directory Specification,
	// "Environment variables").
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir, nil
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
