package plugin

import (
	"fmt"
	"os"
)

// ExitError says how a plugin's process ended. It is the cause of a
// [tool.CodeCrashed] error.
type ExitError struct {
	// Code is the exit status; -1 where a signal ended the process.
	Code int
	// Signal names the signal, such as "SIGKILL"; empty: none.
	Signal string
}

// Error is "exit status 3" or "killed by SIGKILL".
func (e *ExitError) Error() string {
	if e.Signal != "" {
		return "killed by " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

func exitError(state *os.ProcessState) *ExitError {
	if state == nil {
		return &ExitError{Code: -1}
	}
	return &ExitError{Code: state.ExitCode(), Signal: signalName(state)}
}
