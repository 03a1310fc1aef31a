package control

import (
	"time"

	"github.com/toolhost/toolhost/internal/ident"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// SessionInfo is a named session of a daemon.
type SessionInfo struct {
	Caller string `json:"caller"`
	Name   string `json:"name"`
	// ID is what plugins and the audit log know the session by.
	ID string `json:"id"`
	// Began and Used are when its first and its newest call came.
	Began time.Time `json:"began"`
	Used  time.Time `json:"used"`
	// Calls counts the calls in progress.
	Calls int `json:"calls"`
	// Plugins keep state for the session.
	Plugins []string `json:"plugins"`
}

// CheckSession checks the name of a session.
//
// # Errors
//
// [tool.CodeInvalidArguments] for anything but 1 to 64 letters, digits, _, . and -, of which the
// first is a letter or digit.
func CheckSession(name string) error {
	if ident.Valid(name) {
		return nil
	}
	return tool.Errorf(tool.CodeInvalidArguments,
		"a session's name has 1 to 64 letters, digits, _, . and -, and begins with a letter or digit").
		Try("name the session such as work-1")
}
