package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/llmschema"
)

// Agent lets a model work with a host's tools until it has an answer.
type Agent struct {
	Client openai.Client
	Model  string
	// Session is whose tools the model is offered, and whose grants and approver count.
	Session *host.Session
	// MaxIterations bounds how often the model is asked. 0: no limit.
	MaxIterations uint
	// Watch is given the outcome of each call, in order. It may be nil.
	Watch func(host.Outcome)
}

// Answer is the outcome of a run, also of one that ended early.
type Answer struct {
	// Text is the model's last word. Where the run ended early it is all that
	// the model wrote up to there, a paragraph a turn.
	Text string
	// Transcript is the conversation as the model was shown it, with what it
	// said last.
	Transcript []openai.ChatCompletionMessageParamUnion
}

// LimitError says that a run ended because the model was asked often enough.
type LimitError struct{ Iterations uint }

func (e *LimitError) Error() string {
	return fmt.Sprintf("the agent was stopped after %d turns, before it was done (allow more, or 0 for no limit)", e.Iterations)
}

// Run asks the model, runs the tools that it calls, and shows it the outcomes of
// them, until it calls none. A tool that fails ends nothing: the model reads how
// it failed and goes on.
//
// # Errors
//
// [*LimitError] after MaxIterations turns, the calls of the last one included;
// ctx's own error, wrapped, where that ended; an [*openai.Error], or whatever the
// connection brings, wrapped, with what to check; a refusal, an answer that was
// cut off, and none at all. The Answer is filled as far as the run came.
func (a *Agent) Run(ctx context.Context, prompt string) (Answer, error) {
	answer := Answer{Transcript: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)}}
	for turn := uint(1); ; turn++ {
		offer, err := a.offer(ctx)
		if err != nil {
			return answer, fmt.Errorf("turn %d: %w", turn, err)
		}
		choice, err := a.ask(ctx, answer.Transcript, offer)
		if err != nil {
			return answer, fmt.Errorf("turn %d: %w", turn, err)
		}
		said := choice.Message
		answer.Transcript = append(answer.Transcript, replay(said))
		answer.Text = strings.TrimSpace(answer.Text + "\n\n" + said.Content)
		if err := judge(choice); err != nil {
			return answer, fmt.Errorf("turn %d: %w", turn, err)
		}
		if len(said.ToolCalls) == 0 {
			answer.Text = said.Content
			return answer, nil
		}
		for i, out := range a.Session.CallAll(ctx, calls(said, offer)) {
			answer.Transcript = append(answer.Transcript, openai.ToolMessage(out.Content, said.ToolCalls[i].ID))
			if a.Watch != nil {
				a.Watch(out)
			}
		}
		switch {
		case ctx.Err() != nil:
			return answer, fmt.Errorf("turn %d: %w", turn, ctx.Err())
		case turn == a.MaxIterations:
			return answer, &LimitError{turn}
		}
	}
}

// offer is the tools that there are now. Those that the API would not take are
// left out, as it would refuse the whole request.
func (a *Agent) offer(ctx context.Context) (*llmschema.Offer, error) {
	tools, err := a.Session.List(ctx)
	if err != nil {
		return nil, err
	}
	return llmschema.Export(llmschema.OpenAI, tools)
}

// ask shows the model the conversation and the tools.
func (a *Agent) ask(
	ctx context.Context, transcript []openai.ChatCompletionMessageParamUnion, offer *llmschema.Offer,
) (openai.ChatCompletionChoice, error) {
	offers, err := params(offer)
	if err != nil {
		return openai.ChatCompletionChoice{}, err
	}
	completion, err := a.Client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
		Model: a.Model, Messages: transcript, Tools: offers,
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return openai.ChatCompletionChoice{}, ctx.Err()
	case err != nil:
		return openai.ChatCompletionChoice{}, explain(err)
	case len(completion.Choices) == 0:
		return openai.ChatCompletionChoice{}, errors.New("the model's answer has no choices (check that the endpoint serves chat completions)")
	}
	return completion.Choices[0], nil
}

// judge tells an answer that can be used from one that only looks like it.
func judge(choice openai.ChatCompletionChoice) error {
	said := choice.Message
	switch {
	case said.Refusal != "":
		return fmt.Errorf("the model refused: %s", said.Refusal)
	case choice.FinishReason == "length" || choice.FinishReason == "content_filter":
		return fmt.Errorf("the model's answer was cut off: %s", choice.FinishReason)
	case said.Content == "" && len(said.ToolCalls) == 0:
		return errors.New("the model answered with nothing: no text and no tool call")
	}
	return nil
}

// explain adds what the server says, which the client's own text leaves out, and
// what to check.
func explain(err error) error {
	var e *openai.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("no answer that can be used: %w (check the base URL and the model's name, and that the server runs)", err)
	}
	check := "this is the server's own trouble; try again later"
	switch {
	case e.StatusCode == http.StatusUnauthorized || e.StatusCode == http.StatusForbidden:
		check = "check OPENAI_API_KEY"
	case e.StatusCode == http.StatusNotFound:
		check = "check the base URL and the model's name"
	case e.StatusCode == http.StatusTooManyRequests:
		check = "wait, or check the account's limits and credit"
	case e.StatusCode < http.StatusInternalServerError:
		check = "check that the model can call tools, and takes these"
	}
	return fmt.Errorf("%w: %s (%s)", err, cmp.Or(e.Message, e.RawJSON(), "no reason given"), check)
}
