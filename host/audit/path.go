package audit

import (
	"path/filepath"

	"github.com/toolhost/toolhost/internal/state"
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
	dir, err := state.Dir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "audit.jsonl"), nil
}
