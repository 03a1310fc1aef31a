package wire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/internal/errorcode"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

var (
	// ErrDisconnected is the cause of a [tool.CodeUnavailable] error that reports a
	// lost connection. If an error with that code has another cause, the plugin
	// itself reports that something it depends on is unavailable.
	ErrDisconnected = errors.New("the connection to the plugin is gone")
	// ErrClaimed is the cause of an error that the plugin answered with. All other
	// errors are the host's own.
	ErrClaimed = errors.New("claimed by the plugin")
	// ErrProtocol is the cause of an error that reports a violation of the stream's
	// protocol. The connection can no longer be used.
	ErrProtocol = errors.New("the plugin broke the stream's protocol")
)

// reportToAuthor is the operator's hint of an error that only the plugin's author can fix.
const reportToAuthor = "report this to the plugin's author"

func protocolError(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrProtocol}, args...)...)
}

// invalidResult returns the error for an answer that cannot be read.
func invalidResult(msg string) *tool.Error {
	return tool.Errorf(tool.CodeInvalidResult, "the plugin's answer is malformed: %s", msg).
		At(callstage.Execute).Fix(reportToAuthor)
}

// newFailure returns the block that is sent for an error. It omits Detail, which may
// hold a stack trace and goes to standard error, the plugin's log, and Unsent, which only the
// host can know.
func newFailure(err error) block {
	e := tool.AsError(err)
	if e.Detail != "" {
		_, _ = fmt.Fprintf(os.Stderr, "tool %s: %s\n%s\n", e.Tool, e.Message, e.Detail)
	}
	message := err.Error() // says more than e.Message if e is wrapped
	if advice := e.Advice(); advice != "" {
		message = strings.TrimSuffix(message, " ("+advice+")")
	}
	return block{kind: responseError, retry: max(toMilliseconds(e.RetryAfter), 0), fields: [5]string{
		errorCode: string(e.Code), errorMessage: message, errorHint: e.Hint,
	}}
}

// claimed returns the error that a plugin answered with. A plugin that used a code of the host's could impersonate
// it.
func claimed(code tool.Code, message, hint string, retry tool.Duration) *tool.Error {
	if errorcode.Of(code).From != errorcode.Plugin {
		code = tool.CodeToolFailed
	}
	if message == "" {
		message = string(code)
	}
	return &tool.Error{Code: code, Stage: callstage.Execute, Message: message, Hint: hint, RetryAfter: retry, Err: ErrClaimed}
}

// statusError converts a gRPC status to an error. If the context has ended, the error
// reports that, whatever the status says.
func statusError(ctx context.Context, what string, err error) *tool.Error {
	s := status.Convert(err)
	ended := s.Code() == codes.DeadlineExceeded || s.Code() == codes.Canceled
	if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) && ended {
		<-ctx.Done() // the plugin's clock was slightly ahead of our timer
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		return tool.Errorf(tool.CodeOf(ctxErr), "gave up waiting for the plugin to %s: %v", what, deadline.Cause(ctx)).
			At(callstage.Execute).Because(ctxErr)
	}
	out := &tool.Error{
		Stage: callstage.Execute, Err: err,
		Message: fmt.Sprintf("the plugin could not %s: %s", what, s.Message()),
	}
	switch s.Code() {
	case codes.Unavailable, codes.Canceled:
		// Our own context has not ended, so a canceled call means that the
		// connection was closed.
		out.Code, out.Err = tool.CodeUnavailable, fmt.Errorf("%w: %w", ErrDisconnected, err)
	case codes.Aborted: // never set by the transport
		out.Code = tool.CodeUnavailable
	case codes.DeadlineExceeded:
		out.Code = tool.CodeDeadlineExceeded
	case codes.ResourceExhausted:
		out.Code = tool.CodeResourceExhausted
		out.Hint = fmt.Sprintf(
			"a message may have at most %d MiB, and a plugin may send at most %d MiB at a time; ask for less at once",
			MaxMessage>>20, 2*MaxMessage>>20)
	case codes.Unimplemented:
		out.Code = tool.CodeUnavailable
		out.OperatorHint = "the plugin does not serve toolhost.plugin.v1.ToolPlugin; rebuild it with a current SDK"
	case codes.FailedPrecondition, codes.InvalidArgument:
		out.Code = tool.CodeToolFailed
	default:
		out.Code = tool.CodeInvalidResult
	}
	return out
}

// gaveUp returns the error for a call whose caller's context ended first.
func gaveUp(ctx context.Context, name string, cause error) *tool.Error {
	err := ctx.Err()
	if err == nil {
		err = context.DeadlineExceeded
	}
	if cause == nil {
		cause = err
	}
	return tool.Errorf(tool.CodeOf(err), "gave up waiting for the plugin to run %s: %v", name, cause).
		At(callstage.Execute).Because(err)
}
