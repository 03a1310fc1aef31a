package control

import (
	"errors"
	"fmt"
	"net/url"
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
	if detail, err := connect.NewErrorDetail(Message[daemonv1.Fault](e)); err == nil {
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
				return new(Struct[tool.Error](f))
			}
		}
	}
	if connect.IsWireError(err) && sent.Code() == connect.CodeResourceExhausted {
		return tool.Errorf(tool.CodeResourceExhausted, "the request was not read: %s", sent.Message())
	}
	return nil
}

// explain returns the error of a daemon that answered before.
func (c *Client) explain(err error) error {
	if err == nil || c.own != nil {
		return err
	}
	if e := said(err); e != nil {
		return e
	}
	var own *tool.Error // of the connection
	if errors.As(err, &own) {
		return own
	}
	return tool.Errorf(tool.CodeUnavailable,
		"the daemon (pid %d) is gone, or does not answer: %v", c.state.PID, cause(err)).
		Because(err).Try("see its log; with --no-daemon a command works on its own")
}

// cause removes what people do not know from an error: Connect's code, and the address.
func cause(err error) error {
	var u *url.Error
	var sent *connect.Error
	switch {
	case errors.As(err, &u):
		return u.Err
	case errors.As(err, &sent) && sent.Unwrap() != nil:
		return sent.Unwrap()
	}
	return err
}
