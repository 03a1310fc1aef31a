// Package exit maps errors to the exit statuses of the command. Begin with [Status].
package exit

import (
	"cmp"
	"errors"
	"slices"

	"github.com/toolhost/toolhost/internal/errorcode"
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

// As returns err with an exit status if it has one of these codes, which mean something else here than in a call.
func As(status int, err error, codes ...tool.Code) error {
	if err != nil && slices.Contains(codes, tool.CodeOf(err)) {
		return With(status, err)
	}
	return err
}

// Usage returns an error in the command line or the configuration.
func Usage(message, hint string) error {
	return With(BadUsage, &tool.Error{Message: message, Hint: hint})
}

// The codes that only the command has, for errors that are not about a call.
const (
	CodeFailed tool.Code = "failed" // the command could not do it, or a check found something
	CodeUsage  tool.Code = "usage"  // the command line or the configuration is wrong
)

// Own are the rows of these codes.
var Own = []errorcode.Row{
	{
		Code: CodeUsage, Exit: BadUsage,
		Meaning: "only of the command: the command line or the configuration is wrong",
		Do:      "the hint says what to change",
	}, {
		Code: CodeFailed, Exit: Failed,
		Meaning: "only of the command: a check found something, or a file could not be written",
		Do:      "read the message, and the report",
	},
}

// Status returns the exit status for an error; [Done] for nil.
func Status(err error) int {
	if own, ok := errors.AsType[*Error](err); ok {
		return own.Status
	}
	return ofCode(tool.CodeOf(err))
}

// ofCode returns the exit status for a code. A code that is not in the table comes from a newer daemon.
func ofCode(code tool.Code) int {
	if code == "" {
		return Done
	}
	return cmp.Or(errorcode.Of(code).Exit, Unavailable)
}

// Code returns the code that programs read: that of the error, unless its exit status is
// another than the code has.
func Code(err error) tool.Code {
	var own *Error
	code := tool.CodeOf(err)
	if !errors.As(err, &own) || code != "" && ofCode(code) == own.Status {
		return code
	}
	all := slices.Concat(Own, errorcode.Table)
	if i := slices.IndexFunc(all, func(r errorcode.Row) bool { return r.Exit == own.Status }); i >= 0 {
		return all[i].Code
	}
	return tool.CodeUnavailable
}
