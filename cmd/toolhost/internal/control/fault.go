package control

import (
	"errors"
	"fmt"
	"strings"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// maxText bounds each text of an error, in bytes: a plugin may write messages of any length.
const maxText = 64 << 10

// sentError returns err as it is sent; nil for nil. The message keeps the text of the causes,
// which are not sent.
func sentError(err error) *tool.Error {
	if err == nil {
		return nil
	}
	e := *tool.AsError(err)
	text := err.Error()
	if advice := e.Advice(); advice != "" {
		text = strings.Replace(text, " ("+advice+")", "", 1)
	}
	e.Message = clip(text)
	for _, text := range []*string{&e.Plugin, &e.Stage, &e.Hint, &e.OperatorHint, &e.Detail} {
		*text = clip(*text)
	}
	return &e
}

// SentFaults returns errors as they are sent.
func SentFaults(faults []*tool.Error) []*tool.Error {
	var out []*tool.Error
	for _, f := range faults {
		out = append(out, sentError(f))
	}
	return out
}

func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	for piece := range sanitize.Pieces(s, maxText) {
		s = fmt.Sprintf("%s... (%d more bytes)", piece, len(s)-len(piece))
		break
	}
	return s
}

// codes are those of Connect for those of errors. For others it is failed_precondition: what was asked
// for is not possible as things are.
var codes = map[tool.Code]connect.Code{
	tool.CodePermissionDenied: connect.CodePermissionDenied, tool.CodeNotFound: connect.CodeNotFound,
	tool.CodeInvalidArguments: connect.CodeInvalidArgument, tool.CodeResourceExhausted: connect.CodeResourceExhausted,
	tool.CodeUnavailable: connect.CodeUnavailable, tool.CodeUnsupported: connect.CodeUnimplemented,
	tool.CodeAlreadyExists: connect.CodeAlreadyExists, tool.CodeInternal: connect.CodeInternal,
	tool.CodeCanceled: connect.CodeCanceled, tool.CodeDeadlineExceeded: connect.CodeDeadlineExceeded,
}

// refusal returns err as an error of Connect, with all that it says as its detail.
func refusal(err error) error {
	if err == nil {
		return nil
	}
	e := sentError(err)
	code, ok := codes[e.Code]
	if !ok {
		code = connect.CodeFailedPrecondition
	}
	out := connect.NewError(code, errors.New(e.Message))
	var f daemonv1.Fault
	convert(&f, e)
	if detail, err := connect.NewErrorDetail(&f); err == nil {
		out.AddDetail(detail)
	}
	return out
}

// said returns the error that the daemon sent; nil: err is another.
func said(err error) *tool.Error {
	var sent *connect.Error
	if !errors.As(err, &sent) {
		return nil
	}
	for _, detail := range sent.Details() {
		if m, err := detail.Value(); err == nil {
			if f, ok := m.(*daemonv1.Fault); ok {
				var e tool.Error
				convert(&e, f)
				return &e
			}
		}
	}
	if connect.IsWireError(err) && sent.Code() == connect.CodeResourceExhausted {
		return tool.Errorf(tool.CodeResourceExhausted, "the request was not read: %s", sent.Message())
	}
	return nil
}
