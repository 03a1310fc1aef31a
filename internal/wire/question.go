package wire

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/internal/form"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

const (
	// maxQuestions is how many questions one call may ask, answered or refused. The host
	// bounds those that are put to a person, and has a lower limit for these.
	maxQuestions = 256
	// maxOpenQuestions is how many questions of one call may wait for answers at a time.
	maxOpenQuestions = 16
)

// encodeQuestion encodes a Question. It uses the generated code, as questions are rare.
func encodeQuestion(number uint32, q tool.Question) []byte {
	return appendMessage(nil, &pluginv1.Question{Number: number, Message: clean(q.Message), SchemaJson: q.Schema})
}

// parseQuestion decodes a Question. It checks only sizes: the rest is up to the host.
func parseQuestion(b []byte) (number uint32, q tool.Question, err error) {
	var p pluginv1.Question
	if err := proto.Unmarshal(b, &p); err != nil {
		return 0, q, fmt.Errorf("the question is malformed: %w", err)
	}
	if len(p.GetMessage()) > form.MaxMessage || len(p.GetSchemaJson()) > form.MaxSchema {
		return 0, q, fmt.Errorf("the question has %d and %d bytes of message and schema, more than %d and %d",
			len(p.GetMessage()), len(p.GetSchemaJson()), form.MaxMessage, form.MaxSchema)
	}
	return p.GetNumber(), tool.Question{Message: p.GetMessage(), Schema: orNil(p.GetSchemaJson())}, nil
}

// encodeAnswer encodes an Answer, with err if the question could not be put.
func encodeAnswer(number uint32, a tool.Answer, err error) []byte {
	out := &pluginv1.Answer{Number: number}
	if err == nil && len(a.Content) > form.MaxAnswer {
		err = tool.Errorf(tool.CodeResourceExhausted, "the answer has %d bytes, more than %d", len(a.Content), form.MaxAnswer)
	}
	if err != nil {
		e := newFailure(err).fields
		out.Error = &pluginv1.Error{Code: e[errorCode], Message: brief(e[errorMessage]), Hint: brief(e[errorHint])}
		return appendMessage(nil, out)
	}
	switch a.Action {
	case tool.Accept, tool.Decline:
	default:
		a.Action = tool.Cancel
	}
	out.Action = string(a.Action)
	if a.Action == tool.Accept {
		out.ContentJson = a.Content
	}
	return appendMessage(nil, out)
}

// brief cuts a text, so that an answer fits a frame.
func brief(s string) string {
	if len(s) > form.MaxMessage {
		return clean(s[:form.MaxMessage])
	}
	return s
}

// answered is how a question ended.
type answered struct {
	answer tool.Answer
	err    error
}

// parseAnswer decodes an Answer.
func parseAnswer(b []byte) (number uint32, _ answered, err error) {
	var p pluginv1.Answer
	if err := proto.Unmarshal(b, &p); err != nil {
		return 0, answered{}, fmt.Errorf("the answer is malformed: %w", err)
	}
	if e := p.GetError(); e != nil {
		out := tool.Error{Code: tool.Code(e.GetCode()), Message: e.GetMessage(), Hint: e.GetHint()}
		return p.GetNumber(), answered{err: &out}, nil
	}
	return p.GetNumber(), answered{answer: tool.Answer{
		Action: tool.Action(p.GetAction()), Content: orNil(p.GetContentJson()),
	}}, nil
}
