package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Code classifies an [Error]. Programs branch on it; people read the message.
type Code string

// The codes. docs/errors.md tells an operator what to do about each.
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
	CodeResourceExhausted Code = "resource_exhausted" // a size or a queue is full
	CodeNotFound          Code = "not_found"          // no such tool
	CodeAlreadyExists     Code = "already_exists"     // the name is taken
	CodeInvalidDefinition Code = "invalid_definition" // a tool's description is wrong
	CodeInvalidResult     Code = "invalid_result"     // the tool answered nonsense
	CodeToolFailed        Code = "tool_failed"        // the tool's handler returned an error
	CodeInternal          Code = "internal"           // a fault of the host
)

// Stages say where on its way a call ended.
const (
	StageRegister  = "register"
	StageResolve   = "resolve"
	StageValidate  = "validate"
	StageAuthorize = "authorize"
	StageRateLimit = "ratelimit"
	StageApprove   = "approve"
	StageAudit     = "audit"
	StageLimit     = "concurrency"
	StageOutput    = "output"
	StageStart     = "start"
	StageExecute   = "execute"
)

// Sentinels for [errors.Is]. An [Error] is one of them by its code, so they
// are found across a process boundary too. The codes canceled and
// deadline_exceeded are [context.Canceled] and [context.DeadlineExceeded] in
// the same way.
var (
	ErrNotFound      = errors.New("tool not found")
	ErrAlreadyExists = errors.New("tool already registered")
	ErrEmptyName     = errors.New("tool name is empty")
)

// ErrNoPreview is the cause of the error that [Previewer] has for a tool without a
// preview, see [NoPreview].
var ErrNoPreview = errors.New("the tool has no preview")

// NoPreview is a [Previewer]'s error for a tool that has none.
func NoPreview(name string) *Error {
	return &Error{
		Code: CodeNotFound, Tool: name, Stage: StageApprove, Message: "there is no preview of tool " + name, Err: ErrNoPreview,
	}
}

// Error is what a call, a registration or a start ends with when it is not a
// tool's own failure (that is [Result.IsError]).
type Error struct {
	Code Code `json:"code"`
	// Tool and Plugin are whose fault or affair it is; empty: unknown.
	Tool   string `json:"tool,omitempty"`
	Plugin string `json:"plugin,omitempty"`
	// Stage is where on its way the call ended: one of the Stage constants.
	Stage string `json:"stage,omitempty"`
	// Message says what happened. It names the tool or the plugin, is fit for
	// a model's eyes and stands on one line.
	Message string `json:"message"`
	// Hint says what to do next.
	Hint string `json:"hint,omitempty"`
	// Detail is evidence for people, such as the end of a plugin's stderr. It
	// may have several lines.
	Detail string `json:"detail,omitempty"`
	// Unsent says that the call never left the host, so that repeating it is
	// safe. Only the host can know, so it does not travel.
	Unsent bool `json:"-"`
	// RetryAfter is when to try again, from now; 0: that is not known.
	RetryAfter Duration `json:"retry_after,omitempty"`
	// Err is the cause.
	Err error `json:"-"`
}

// Error is the message and the hint.
func (e *Error) Error() string {
	msg := e.Message
	if msg == "" {
		msg = string(e.Code)
		if e.Err != nil {
			msg = e.Err.Error()
		}
	}
	return msg + e.hint()
}

func (e *Error) hint() string {
	if e.Hint == "" {
		return ""
	}
	return " (" + e.Hint + ")"
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is makes the code findable by [errors.Is].
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

// Errorf returns an Error with a code and a formatted message. As with [fmt.Errorf],
// %w makes an argument the cause.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

// CodeOf classifies any error: the code of the outermost [Error], that of a
// context's end, else [CodeInternal]. A nil error has none.
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

// AsError returns the outermost [Error] in err, or else a new one that wraps err with
// the code that [CodeOf] finds. It returns nil for a nil error.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: CodeOf(err), Message: err.Error(), Err: err}
}

// ExecutionError is what a handler's error becomes on its way to the caller:
// "tool NAME execution failed: ...", with the chain kept and the code that the
// error brings, or [CodeToolFailed]. It wraps once, however often it is called.
func ExecutionError(name string, err error) *Error {
	prefix := "tool " + name + " execution failed: "
	var e *Error
	if !errors.As(err, &e) {
		code := CodeOf(err)
		if code == CodeInternal {
			code = CodeToolFailed
		}
		return &Error{Code: code, Tool: name, Stage: StageExecute, Message: prefix + err.Error(), Err: err}
	}
	wrapped := *e
	wrapped.Tool, wrapped.Err = name, err
	if wrapped.Code == "" {
		wrapped.Code = CodeToolFailed
	}
	if wrapped.Stage == "" {
		wrapped.Stage = StageExecute
	}
	if !strings.HasPrefix(e.Message, prefix) {
		// What stands around e is part of the story; the hint stays apart.
		wrapped.Message = prefix + strings.TrimSuffix(err.Error(), e.hint())
	}
	return &wrapped
}
