package link

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/flynn/noise"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// An answer is
//
//	version  uint8  1; 0: it refuses
//	message  the second of the handshake, with max packet (uint32) sealed in it, or a refusal in JSON
//
// so that none but the host accepts, or refuses.
const (
	refused    = 0
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

// Refuse returns the answer to an opening that is not accepted, by which the instance with the public half remote learns
// why; nil: it has not made the opening. It has the code, the message and the hint of a [tool.Error], and not what is for
// the operator of this host alone.
func Refuse(self *Instance, remote []byte, o *Opening, err error) []byte {
	e := tool.AsError(err)
	r := refusal{
		Code: e.Code, Message: sanitize.Line(cmp.Or(e.Message, string(e.Code)), maxMessage),
		Hint: sanitize.Line(e.Hint, maxMessage), RetryAfter: e.RetryAfter,
	}
	text, _ := json.Marshal(r) // it can be
	answer, _, _, _ := o.answer(self, remote, refused, text)
	return answer
}

// answer returns an answer with something sealed in it, and the keys of the link.
//
// # Errors
//
// [tool.CodeInvalidArguments] if the instance with the public half remote has not made the opening for this one.
func (o *Opening) answer(self *Instance, remote []byte, first byte, payload []byte) (answer []byte, in, out *noise.CipherState, err error) {
	hs, err := noise.NewHandshakeState(self.handshake(false, remote, o.prologue))
	if err != nil {
		return nil, nil, nil, err
	}
	if _, _, _, err = hs.ReadMessage(nil, o.message); err != nil {
		return nil, nil, nil, tool.Errorf(tool.CodeInvalidArguments, "the opening of a link is not that of the host: %w", err)
	}
	return hs.WriteMessage([]byte{first}, payload)
}

// parseRefusal returns the error in an answer that refuses.
func parseRefusal(data []byte) *tool.Error {
	var r refusal
	if json.Unmarshal(data, &r) != nil {
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
