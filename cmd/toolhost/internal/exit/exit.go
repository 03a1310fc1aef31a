// Package exit maps errors to the exit statuses of the command. Begin with [Status].
package exit

import (
	"errors"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The exit statuses, the same for every command.
const (
	Done        = 0
	Failed      = 1 // the tool reported a failure, or a check found one
	BadUsage    = 2
	Unknown     = 3 // there is no such tool
	Arguments   = 4 // the tool does not accept the arguments
	Refused     = 5 // permission, approval, rate or size
	Unavailable = 6 // the plugin is missing, crashed, or sent an invalid answer
	Ended       = 7 // deadline exceeded or canceled
)

// Error is an error with an exit status of its own. It is for errors that have no code, and
// for those whose code means something else here than in a call.
type Error struct {
	Status int
	Err    error
}

// Error implements error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error without its status.
func (e *Error) Unwrap() error { return e.Err }

// With returns err with an exit status.
func With(status int, err error) error { return &Error{status, err} }

// Usage returns an error in the command line or the configuration.
func Usage(message, hint string) error {
	return With(BadUsage, &tool.Error{Message: message, Hint: hint})
}

// Status returns the exit status for an error; [Done] for nil.
func Status(err error) int {
	var own *Error
	if errors.As(err, &own) {
		return own.Status
	}
	return ofCode(tool.CodeOf(err))
}

// ofCode returns the exit status for a code. A code that is not listed comes from a plugin
// that sent an invalid answer, or from a newer plugin.
func ofCode(code tool.Code) int {
	switch code {
	case "":
		return Done
	case tool.CodeToolFailed:
		return Failed
	case tool.CodeNotFound:
		return Unknown
	case tool.CodeInvalidArguments:
		return Arguments
	case tool.CodePermissionDenied, tool.CodeApprovalDenied, tool.CodeApprovalRequired,
		tool.CodeRateLimited, tool.CodeResourceExhausted:
		return Refused
	case tool.CodeDeadlineExceeded, tool.CodeCanceled:
		return Ended
	default:
		return Unavailable
	}
}

// The codes that only the command has, for errors that are not about a call.
const (
	CodeFailed tool.Code = "failed" // the command could not do it, or a check found something
	CodeUsage  tool.Code = "usage"  // the command line or the configuration is wrong
)

// Code returns the code that programs read: that of the error, unless its exit status is
// another than the code has.
func Code(err error) tool.Code {
	var own *Error
	code := tool.CodeOf(err)
	if !errors.As(err, &own) || code != "" && ofCode(code) == own.Status {
		return code
	}
	switch own.Status {
	case Failed:
		return CodeFailed
	case BadUsage:
		return CodeUsage
	case Unknown:
		return tool.CodeNotFound
	case Arguments:
		return tool.CodeInvalidArguments
	case Refused:
		return tool.CodePermissionDenied
	case Ended:
		return tool.CodeCanceled
	}
	return tool.CodeUnavailable
}
