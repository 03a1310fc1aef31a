package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"

	"github.com/toolhost/toolhost/pluginsdk"
)

// However a run ends early, its outcome until then is kept.

func TestCancelledWhileTheModelThinks(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := newStub(t, wants("So far.", call("c", "text_echo", `{"text":"x"}`)), func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done() // the client has hung up
	})
	answer, err := newAgent(t, s, echo("text.echo")).Run(ctx, "Go.")
	if !errors.Is(err, context.Canceled) || answer.Text != "So far." || len(answer.Transcript) != 3 {
		t.Errorf("%+v, %v", answer, err)
	}
	if strings.Contains(err.Error(), "check") {
		t.Errorf("%v: there is nothing to check", err)
	}
}

func TestCancelledWhileAToolRuns(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	hang := pluginsdk.Func("hang", "Hangs.", func(ctx context.Context, _ struct{}) (string, error) {
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	}, pluginsdk.Safe())
	s := newStub(t, wants("So far.", call("c", "hang", `{}`)))
	agent := newAgent(t, s, hang)
	agent.MaxIterations = 1 // who is cancelled was not stopped by the limit
	answer, err := agent.Run(ctx, "Go.")
	if !errors.Is(err, context.Canceled) || answer.Text != "So far." {
		t.Errorf("%+v, %v", answer, err)
	}
	if got := answer.messages(t); len(got) != 3 || got[2].ToolCallID != "c" || !strings.Contains(got[2].Content, "cancel") {
		t.Errorf("transcript %+v", got)
	}
}

func TestCancelledBeforehand(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := newStub(t)
	answer, err := newAgent(t, s).Run(ctx, "Go.")
	if !errors.Is(err, context.Canceled) || len(answer.Transcript) != 1 {
		t.Errorf("%+v, %v", answer, err)
	}
	s.requests(t, 0)
}

// The client repeats what may pass, as often as it was told and no more.
func TestServerErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status, requests int
		check            string
	}{
		{http.StatusBadRequest, 1, "check that the model can call tools"},
		{http.StatusUnauthorized, 1, "check OPENAI_API_KEY"},
		{http.StatusForbidden, 1, "check OPENAI_API_KEY"},
		{http.StatusNotFound, 1, "check the base URL and the model's name"},
		{http.StatusTooManyRequests, 2, "check the account's limits"},
		{http.StatusInternalServerError, 2, "try again later"},
		{http.StatusServiceUnavailable, 2, "try again later"},
	} {
		t.Run(http.StatusText(c.status), func(t *testing.T) {
			t.Parallel()
			refusal := fails(c.status, "because I say so")
			s := newStub(t, wants("So far.", call("c", "text_echo", `{"text":"x"}`)), refusal, refusal)
			answer, err := newAgent(t, s, echo("text.echo")).Run(t.Context(), "Go.")
			var e *openai.Error
			if !errors.As(err, &e) || e.StatusCode != c.status {
				t.Fatalf("error %v", err)
			}
			for _, text := range []string{"turn 2: ", http.StatusText(c.status), "because I say so", c.check} {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("error %v lacks %q", err, text)
				}
			}
			if s.requests(t, 1+c.requests); answer.Text != "So far." || len(answer.Transcript) != 3 {
				t.Errorf("answer %+v", answer)
			}
		})
	}
}

func TestServerRecovers(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusTooManyRequests, http.StatusInternalServerError} {
		s := newStub(t, fails(status, "not now"), says("Now."))
		if answer, err := newAgent(t, s).Run(t.Context(), "Go."); err != nil || answer.Text != "Now." {
			t.Errorf("%+v, %v", answer, err)
		}
		s.requests(t, 2)
	}
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	s := newStub(t)
	s.url = "http://127.0.0.1:0/v1" // a port that no server can have
	_, err := newAgent(t, s).Run(t.Context(), "Go.")
	if err == nil || !strings.Contains(err.Error(), "check the base URL") {
		t.Errorf("error %v", err)
	}
}

// What looks like an answer and is none is an error that says so.
func TestUnusableAnswers(t *testing.T) {
	t.Parallel()
	type refusal struct {
		Role    string `json:"role"`
		Refusal string `json:"refusal"`
	}
	for name, c := range map[string]struct {
		answer    turn
		want      string
		text      string
		remembers int // messages
	}{
		"refusal":       {chooses("stop", refusal{"assistant", "I would rather not."}), "the model refused: I would rather not.", "", 2},
		"no choices":    {answers(http.StatusOK, "application/json", `{"choices": []}`), "no choices", "", 1},
		"error as 200":  {answers(http.StatusOK, "application/json", `{"error": {"message": "no"}}`), "no choices", "", 1},
		"empty":         {says(""), "answered with nothing", "", 2},
		"too long":      {chooses("length", message{Role: "assistant", Content: "And then"}), "cut off: length", "And then", 2},
		"filtered":      {chooses("content_filter", message{Role: "assistant"}), "cut off: content_filter", "", 2},
		"a web page":    {answers(http.StatusOK, "text/html", "<html>"), "check the base URL", "", 1},
		"cut JSON":      {answers(http.StatusOK, "application/json", `{"choices": [`), "check the base URL", "", 1},
		"error as text": {answers(http.StatusNotFound, "application/json", `{"error": "no such model"}`), "check the base URL", "", 1},
		"a bare error":  {answers(http.StatusNotFound, "application/json", `{"detail": "Not Found"}`), "404 Not Found: no reason given (check the base URL", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStub(t, c.answer)
			answer, err := newAgent(t, s).Run(t.Context(), "Go.")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if answer.Text != c.text || len(answer.Transcript) != c.remembers {
				t.Errorf("answer %+v", answer)
			}
		})
	}
}
