package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"github.com/toolhost/toolhost/internal/callstage"
	"strings"
)

// Code classifies an [Error]. Programs compare codes; people read messages.
type Code string

// The codes. docs/reference/errors.md explains to operators what to do about each.
const (
	CodeInvalidArguments  Code = "invalid_arguments"  // the arguments do not fit the schema
	CodePermissionDenied  Code = "permission_denied"  // the caller lacks the capability
	CodeApprovalDenied    Code = "approval_denied"    // the approver said no
	CodeApprovalRequired  Code = "approval_required"  // the session has no approver
	CodeRateLimited       Code = "rate_limited"       // too many calls
	CodeUnavailable       Code = "unavailable"        // the plugin cannot be reached or started
	CodeCrashed           Code = "crashed"            // the plugin's process ended during the call
	CodeDeadlineExceeded  Code = "deadline_exceeded"  // time ran out
	CodeCanceled          Code = "canceled"           // the caller gave up
	CodeResourceExhausted Code = "resource_exhausted" // a size limit is exceeded or a queue is full
	CodeNotFound          Code = "not_found"          // the tool does not exist
	CodeAlreadyExists     Code = "already_exists"     // the name is taken
	CodeInvalidDefinition Code = "invalid_definition" // a tool's description is wrong
	CodeInvalidResult     Code = "invalid_result"     // the tool's result is malformed
	CodeToolFailed        Code = "tool_failed"        // the tool's handler returned an error
	CodeUnsupported       Code = "unsupported"        // the caller, or the plugin, cannot do what is asked of it
	CodeInternal          Code = "internal"           // a fault of the host
)

// Sentinels for [errors.Is]. An [Error] matches one of them by its code, so that errors
// from another process match too. In the same way, the codes canceled and
// deadline_exceeded match [context.Canceled] and [context.DeadlineExceeded].
var (
	ErrNotFound      = errors.New("tool not found")
	ErrAlreadyExists = errors.New("tool already registered")
	ErrEmptyName     = errors.New("tool name is empty")
)

// ErrNoPreview is the cause of the error that a [Previewer] returns for a tool without a
// preview. See [NoPreview].
var ErrNoPreview = errors.New("the tool has no preview")

// NoPreview returns a [Previewer]'s error for a tool without a preview. It has the code
// [CodeNotFound] and wraps [ErrNoPreview].
func NoPreview(name string) *Error {
	return Errorf(CodeNotFound, "there is no preview of tool %s", name).Of(name, "").At(callstage.Approve).Because(ErrNoPreview)
}

// Error is the error of a call, of a tool's registration or of a plugin's start. A tool
// that fails in its own terms returns a [Result] with IsError instead.
type Error struct {
	// Code classifies the error.
	Code Code `json:"code"`
	// Tool names the tool that the error concerns. Empty: unknown.
	Tool string `json:"tool,omitempty"`
	// Plugin names the plugin that the error concerns. Empty: unknown.
	Plugin string `json:"plugin,omitempty"`
	// Stage is where the call ended: register (before any call), resolve (the name), validate (the
	// arguments), authorize (the capabilities), ratelimit, approve, audit, concurrency (waiting for other
	// calls), output (checking the result), start (of the plugin) or execute. Empty: unknown.
	Stage string `json:"stage,omitempty"`
	// Message says what happened, in one line. It names the tool or the plugin, and may
	// be shown to a model.
	Message string `json:"message"`
	// Hint says what to do next, to whoever made the call: a model reads it. It names no
	// commands or settings. Empty: none.
	Hint string `json:"hint,omitempty"`
	// OperatorHint says what a person who runs the host can do, in place of Hint: it may
	// name commands and settings. Models do not see it, and plugins cannot send it.
	// Empty: Hint is for both.
	OperatorHint string `json:"operator_hint,omitempty"`
	// Detail is evidence for people, such as the last lines of a plugin's standard
	// error. It may have several lines, and is not for models.
	Detail string `json:"detail,omitempty"`
	// Unsent reports that the call never left the host, so that repeating it is safe.
	// Only the host knows, so the field is not part of the JSON form.
	Unsent bool `json:"-"`
	// RetryAfter is how long to wait before trying again. Zero: unknown.
	RetryAfter Duration `json:"retry_after,omitempty"`
	// Err is the cause. Nil: none.
	Err error `json:"-"`
}

// Error returns the text for people: the message, followed by [Error.Advice] in
// parentheses. [ModelText] returns the text for models.
func (e *Error) Error() string {
	msg := e.Message
	if msg == "" {
		msg = string(e.Code)
		if e.Err != nil {
			msg = e.Err.Error()
		}
	}
	return msg + inParentheses(e.Advice())
}

// Advice returns what a person can do next: OperatorHint, or else Hint. Empty: nothing.
func (e *Error) Advice() string { return cmp.Or(e.OperatorHint, e.Hint) }

func inParentheses(hint string) string {
	if hint == "" {
		return ""
	}
	return " (" + hint + ")"
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the sentinel of the error's code, for [errors.Is].
func (e *Error) Is(target error) bool {
	switch e.Code {
	case CodeNotFound:
		return target == ErrNotFound
	case CodeAlreadyExists:
		return target == ErrAlreadyExists
	case CodeCanceled:
		return target == context.Canceled
	case CodeDeadlineExceeded:
		return target == context.DeadlineExceeded
	default:
		return false
	}
}

// Errorf returns an Error with a code and a formatted message. An argument for %w becomes
// the cause, as with [fmt.Errorf]. What else is known of it is added to the new error:
//
//	tool.Errorf(tool.CodeNotFound, "there is no plugin %q", name).Of("", name).Try("list the plugins")
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

// Of sets the tool and the plugin that the error concerns, and returns it, as the methods below do. Empty:
// unknown.
func (e *Error) Of(tool, plugin string) *Error {
	e.Tool, e.Plugin = tool, plugin
	return e
}

// At sets the stage.
func (e *Error) At(stage string) *Error {
	e.Stage = stage
	return e
}

// NeverSent sets Unsent.
func (e *Error) NeverSent() *Error {
	e.Unsent = true
	return e
}

// Because sets the cause, where the message does not have its text.
func (e *Error) Because(err error) *Error {
	e.Err = err
	return e
}

// Try sets the hint for whoever made the call.
func (e *Error) Try(hint string) *Error {
	e.Hint = hint
	return e
}

// Fix sets the hint for the operator.
func (e *Error) Fix(hint string) *Error {
	e.OperatorHint = hint
	return e
}

// CodeOf returns the code of the outermost [Error] in err. Without one it returns
// [CodeCanceled] or [CodeDeadlineExceeded] for the errors of a context, "" for a nil
// error, and [CodeInternal] for any other.
func CodeOf(err error) Code {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Code
	case errors.Is(err, context.Canceled):
		return CodeCanceled
	case errors.Is(err, context.DeadlineExceeded):
		return CodeDeadlineExceeded
	}
	return CodeInternal
}

// AsError returns the outermost [Error] in err, or else a new one that wraps err and has
// the code that [CodeOf] returns. It returns nil for a nil error.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: CodeOf(err), Message: err.Error(), Err: err}
}

// ExecutionError wraps the error of a handler for the caller. The message becomes "tool
// NAME execution failed: ...". The code is that of err, or [CodeToolFailed] if err has
// none. Repeated calls add the prefix once. Errors about the arguments, "Invalid tool call:
// ...", keep their text: the tool did not run.
func ExecutionError(name string, err error) *Error {
	prefix := "tool " + name + " execution failed: "
	var e *Error
	if !errors.As(err, &e) {
		code := CodeOf(err)
		if code == CodeInternal {
			code = CodeToolFailed
		}
		return &Error{Code: code, Tool: name, Stage: callstage.Execute, Message: prefix + err.Error(), Err: err}
	}
	wrapped := *e
	wrapped.Tool, wrapped.Err = name, err
	if wrapped.Code == "" {
		wrapped.Code = CodeToolFailed
	}
	if wrapped.Stage == "" {
		wrapped.Stage = callstage.Execute
	}
	if !strings.HasPrefix(e.Message, prefix) && !isInvalidCall(e) {
		// Errors that wrap e add to its message; its hint stays separate.
		wrapped.Message = prefix + strings.TrimSuffix(err.Error(), inParentheses(e.Advice()))
	}
	return &wrapped
}

func isInvalidCall(e *Error) bool {
	return e.Code == CodeInvalidArguments && strings.HasPrefix(e.Message, "Invalid tool call: ")
}
