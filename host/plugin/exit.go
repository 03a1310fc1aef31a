package plugin

import "fmt"

// ExitError says how a plugin's process ended. It is the cause of a
// [tool.CodeCrashed] error.
type ExitError struct {
	// Code is the exit status; -1 if a signal ended the process.
	Code int
	// Signal names the signal, such as "SIGKILL"; empty: none.
	Signal string
	// Stuck says that the process was killed and did not end: the system holds it, perhaps
	// in a file system that does not answer.
	Stuck bool
	// Limit names the limit of its sandbox because of which the process was ended, such as
	// "memory, 512 MiB"; empty: none.
	Limit string
	// Lost says how the connection to a server ended that is not a process of the host's.
	// Empty: it is a process.
	Lost string
}

// Error returns such as "exit status 3" or "killed by SIGKILL".
func (e *ExitError) Error() string {
	if e.Stuck {
		return "killed, but the system does not let it end (see dmesg and the file systems that it uses)"
	}
	if e.Lost != "" {
		return e.Lost
	}
	if e.Limit != "" {
		return "ended by the limit of its sandbox: " + e.Limit
	}
	if e.Signal != "" {
		return "killed by " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}
