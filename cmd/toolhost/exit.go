package main

import (
	"errors"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The exit statuses, the same for each command.
const (
	exitDone        = 0
	exitFailed      = 1 // the tool reported a failure, or a check found one
	exitUsage       = 2
	exitUnknown     = 3 // no such tool
	exitArguments   = 4 // the arguments do not fit the tool
	exitRefused     = 5 // permission, approval, rate, size
	exitUnavailable = 6 // the plugin is not there, crashed, or answers nonsense
	exitEnded       = 7 // deadline or cancelled
)

// failure is an error with an exit status of its own, for what has no code or
// means something else here than on the way of a call.
type failure struct {
	status int
	err    error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// usage is a failure of who wrote the command line.
func usage(message, hint string) error {
	return &failure{exitUsage, &tool.Error{Message: message, Hint: hint}}
}

// exitStatus is the exit status that an error stands for.
func exitStatus(err error) int {
	var f *failure
	if errors.As(err, &f) {
		return f.status
	}
	return codeStatus(tool.CodeOf(err))
}

// codeStatus is the exit status that a code stands for. Codes that are not
// listed come from a plugin that answers nonsense, or from a newer one.
func codeStatus(code tool.Code) int {
	switch code {
	case "":
		return exitDone
	case tool.CodeToolFailed:
		return exitFailed
	case tool.CodeNotFound:
		return exitUnknown
	case tool.CodeInvalidArguments:
		return exitArguments
	case tool.CodePermissionDenied, tool.CodeApprovalDenied, tool.CodeApprovalRequired,
		tool.CodeRateLimited, tool.CodeResourceExhausted:
		return exitRefused
	case tool.CodeDeadlineExceeded, tool.CodeCanceled:
		return exitEnded
	default:
		return exitUnavailable
	}
}
