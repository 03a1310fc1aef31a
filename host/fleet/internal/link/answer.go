package link

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// An answer that accepts is
//
//	version  uint8   1
//	message  52 bytes, the second of the handshake, with max packet (uint32) sealed in it
//
// One that refuses is a zero byte and a refusal in JSON.
const (
	refused    = 0
	answerSize = 1 + messageSize + 4
	maxRefusal = 4 << 10 // bytes
	maxMessage = 512     // bytes of each text of a refusal
)

// refusal is why a link is refused.
type refusal struct {
	Code       tool.Code     `json:"code"`
	Message    string        `json:"message"`
	Hint       string        `json:"hint,omitempty"`
	RetryAfter tool.Duration `json:"retry_after,omitempty"`
}

// refusals are the codes with which another host may refuse. Others would say something of the call
// that the link was for, or of this host.
var refusals = []tool.Code{
	tool.CodeInvalidArguments, tool.CodePermissionDenied, tool.CodeRateLimited, tool.CodeUnavailable,
	tool.CodeResourceExhausted, tool.CodeUnsupported,
}

// Refuse returns the answer to an opening that is not accepted. It has the code, the message and
// the hint of a [tool.Error], and not what is for the operator of this host alone.
func Refuse(err error) []byte {
	e := tool.AsError(err)
	r := refusal{
		Code: e.Code, Message: sanitize.Line(cmp.Or(e.Message, string(e.Code)), maxMessage),
		Hint: sanitize.Line(e.Hint, maxMessage), RetryAfter: e.RetryAfter,
	}
	out, err := json.Marshal(r)
	if err != nil {
		out = []byte("{}")
	}
	return append([]byte{refused}, out...)
}

// parseRefusal returns the error in an answer that refuses.
func parseRefusal(data []byte) *tool.Error {
	var r refusal
	if len(data) > maxRefusal || json.Unmarshal(data, &r) != nil {
		r = refusal{}
	}
	if !slices.Contains(refusals, r.Code) {
		r.Code = tool.CodeUnavailable
	}
	return &tool.Error{
		Code: r.Code, Stage: callstage.Execute, Unsent: true, RetryAfter: max(r.RetryAfter, 0),
		Message: cmp.Or(strings.TrimSpace(sanitize.Line(r.Message, maxMessage)), "the other host refuses the link"),
		Hint:    sanitize.Line(r.Hint, maxMessage),
	}
}

// messageOf returns the second message of the handshake in an answer; the error of one that refuses is a [tool.Error]
// with its code.
func messageOf(answer []byte) ([]byte, error) {
	switch {
	case len(answer) > 0 && answer[0] == refused:
		return nil, parseRefusal(answer[1:])
	case len(answer) != answerSize || answer[0] != version:
		return nil, errNotTheHost
	}
	return answer[1:], nil
}
