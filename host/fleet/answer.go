package fleet

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// answerKey is the key of a result's _meta under which a host answers with an error, which the
// wire would cut to what a plugin may say, and with what else the caller's host has to know.
const answerKey = "toolhost.fleet/answer"

// answer is what a host says of a call besides its result.
type answer struct {
	Error *failure `json:"error,omitempty"`
	// Reset says that the text that was streamed is not that of the result.
	Reset bool `json:"reset,omitempty"`
}

// failure is a [tool.Error] from one host to another.
type failure struct {
	tool.Error
	Unsent bool `json:"unsent,omitempty"`
}

// The bounds of the texts of a failure, in bytes.
const (
	maxMessage = 8 << 10
	maxHint    = 2 << 10
)

func (a answer) result(res tool.Result) tool.Result {
	meta := map[string]json.RawMessage{}
	if len(res.Meta) > 0 {
		_ = json.Unmarshal(res.Meta, &meta) // the chain has checked it
	}
	text, err := json.Marshal(a)
	if err != nil {
		return res
	}
	meta[answerKey] = text
	res.Meta, _ = json.Marshal(meta)
	return res
}

// failed returns the result that stands for an error.
func failed(err error) tool.Result {
	e := *tool.AsError(err)
	e.Message = err.Error() // says more than the error's own if that is wrapped
	if advice := e.Advice(); advice != "" {
		e.Message = strings.TrimSuffix(e.Message, " ("+advice+")")
	}
	e.Detail = ""
	return answer{Error: &failure{e, e.Unsent}}.result(tool.Result{IsError: true})
}

// withoutAnswer removes what a tool has no business to say.
func withoutAnswer(res tool.Result) tool.Result {
	if !bytes.Contains(res.Meta, []byte("toolhost.fleet")) && !bytes.Contains(res.Meta, []byte(`\u`)) {
		return res
	}
	meta := map[string]json.RawMessage{}
	if json.Unmarshal(res.Meta, &meta) != nil {
		return res
	}
	if _, there := meta[answerKey]; there {
		delete(meta, answerKey)
		res.Meta, _ = json.Marshal(meta)
		if len(meta) == 0 {
			res.Meta = nil
		}
	}
	return res
}

// answerOf takes the host's word out of a result.
func answerOf(res tool.Result) (tool.Result, answer) {
	var a answer
	if !bytes.Contains(res.Meta, []byte("toolhost.fleet")) {
		return res, a
	}
	meta := map[string]json.RawMessage{}
	if json.Unmarshal(res.Meta, &meta) != nil || json.Unmarshal(meta[answerKey], &a) != nil {
		a = answer{}
	}
	return withoutAnswer(res), a
}

// answered returns the result, or the error that stands in it.
func answered(res tool.Result) (tool.Result, error) {
	res, a := answerOf(res)
	if a.Error != nil {
		return tool.Result{}, a.Error.clean()
	}
	return res, nil
}

var stages = []string{
	tool.StageResolve, tool.StageValidate, tool.StageAuthorize, tool.StageRateLimit, tool.StageApprove, tool.StageAudit,
	tool.StageLimit, tool.StageOutput, tool.StageStart, tool.StageExecute,
}

var codes = []tool.Code{
	tool.CodeInvalidArguments, tool.CodePermissionDenied, tool.CodeApprovalDenied, tool.CodeApprovalRequired, tool.CodeRateLimited,
	tool.CodeUnavailable, tool.CodeCrashed, tool.CodeDeadlineExceeded, tool.CodeCanceled, tool.CodeResourceExhausted,
	tool.CodeNotFound, tool.CodeInvalidResult, tool.CodeToolFailed, tool.CodeUnsupported, tool.CodeInternal,
}

// clean returns the error as this host can show it, whatever the other one has sent.
func (f *failure) clean() *tool.Error {
	e := &tool.Error{
		Code: f.Code, Stage: f.Stage, Message: sanitize.Line(f.Message, maxMessage), Hint: sanitize.Line(f.Hint, maxHint),
		OperatorHint: sanitize.Line(f.OperatorHint, maxHint), Unsent: f.Unsent, RetryAfter: max(f.RetryAfter, 0),
	}
	if !slices.Contains(codes, e.Code) {
		e.Code = tool.CodeToolFailed
	}
	if !slices.Contains(stages, e.Stage) {
		e.Stage = tool.StageExecute
	}
	if e.Message == "" {
		e.Message = string(e.Code)
	}
	return e
}

// ofHost returns an error that says which host it comes from, unless it is the tool's own. Others may have the
// error that it is given: it is that of all who wait for a line.
func ofHost(from *tool.Error, host string) *tool.Error {
	e := *from
	switch e.Code {
	case tool.CodeToolFailed, tool.CodeInvalidArguments:
	default:
		e.Message = "host " + host + ": " + e.Message
	}
	if e.OperatorHint != "" {
		e.OperatorHint = "on host " + host + ": " + e.OperatorHint
	}
	return &e
}
