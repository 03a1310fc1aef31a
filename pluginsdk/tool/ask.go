package tool

import (
	"context"
	"encoding/json"

	"github.com/toolhost/toolhost/internal/callctx"
)

// Question is what a tool asks whoever made the call.
type Question struct {
	// Message is what the person is asked, in plain text. Required.
	Message string `json:"message"`
	// Schema describes the answer: a JSON Schema of an object whose properties are strings,
	// numbers, booleans or enumerations, as in forms of MCP's elicitation. Default: none, the
	// answer is yes or no.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Tool and Plugin say who asks. The host sets them, and makes its Message say so too.
	// Plugin is empty for a function of the host's own process.
	Tool   string `json:"tool,omitempty"`
	Plugin string `json:"plugin,omitempty"`
}

// Answer is how a question was answered.
type Answer struct {
	// Action says what the person did. Default: "", which counts as [Cancel].
	Action Action `json:"action"`
	// Content is the form, filled in: an object that matches the question's schema. Only
	// [Accept] has one.
	Content json.RawMessage `json:"content,omitempty"`
}

// Action is what a person did with a question.
type Action string

// The actions, those of MCP's elicitation.
const (
	Accept  Action = "accept"  // answered
	Decline Action = "decline" // said no
	Cancel  Action = "cancel"  // went away without an answer
)

// Asker puts a question to whoever made a call, and returns the answer. It returns soon after
// its context ends.
type Asker func(context.Context, Question) (Answer, error)

// WithAsker returns a context whose calls put their questions to ask.
func WithAsker(ctx context.Context, ask Asker) context.Context {
	return context.WithValue(ctx, callctx.Ask{}, ask)
}

// Ask puts a question to whoever made the call that ctx belongs to, and waits for the answer.
//
// # Errors
//
// [CodeUnsupported] if it cannot be answered; the context's end; those of the [Asker].
func Ask(ctx context.Context, q Question) (Answer, error) {
	ask := callctx.Get[Asker](ctx, callctx.Ask{})
	if ask == nil {
		return Answer{}, Errorf(CodeUnsupported, "the caller of this call cannot answer questions").
			Try("call again with all that the tool needs as arguments").
			Fix("call the tool from a terminal, or with a client that can ask a person")
	}
	return ask(ctx, q)
}
