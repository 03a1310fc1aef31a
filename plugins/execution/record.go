package main

import (
	"context"
	"slices"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type lastError struct {
	Found bool     `json:"found" jsonschema:"a form of the session has failed"`
	Error *failure `json:"error,omitempty"`
}

const lastErrorDescription = `The session's last failure of eval_form or compile_form: the form, the message and, where the program crashed, the panic's stack.`

func (e *evaluator) getLastError() tool.Tool {
	return pluginsdk.Func("get_last_error", lastErrorDescription, e.lastError,
		pluginsdk.Title("Show the last failure"), pluginsdk.Safe(), pluginsdk.Categories("execution", "debugging"),
		pluginsdk.Permission(tool.Exec), pluginsdk.Idempotent(2))
}

func (e *evaluator) lastError(ctx context.Context, _ struct{}) (lastError, error) {
	s := e.sessions.get(pluginsdk.CallFrom(ctx).Session)
	release, err := s.take(ctx)
	if err != nil {
		return lastError{}, err
	}
	defer release()
	return lastError{Found: s.last != nil, Error: s.last}, nil
}

type historyIn struct {
	Limit int `json:"limit,omitempty" jsonschema:"how many of the newest forms; default: 10, at most 50"`
}

type history struct {
	Entries []entry `json:"entries" jsonschema:"oldest first, newest last"`
	Total   int     `json:"total" jsonschema:"forms that the session has evaluated or compiled; the last 100 are kept at most"`
}

const (
	defaultHistory = 10
	mostHistory    = 50
)

const historyDescription = `The session's last forms of eval_form and compile_form with what came of them, newest last.`

func (e *evaluator) getHistory() tool.Tool {
	return pluginsdk.Func("get_repl_history", historyDescription, e.history,
		pluginsdk.Title("Show the last forms"), pluginsdk.Safe(), pluginsdk.Categories("execution"),
		pluginsdk.Permission(tool.Exec), pluginsdk.Idempotent(2),
		pluginsdk.Argument("limit", `{"minimum": 1, "maximum": 50, "default": 10}`))
}

func (e *evaluator) history(ctx context.Context, in historyIn) (history, error) {
	s := e.sessions.get(pluginsdk.CallFrom(ctx).Session)
	release, err := s.take(ctx)
	if err != nil {
		return history{}, err
	}
	defer release()
	n := in.Limit
	if n <= 0 {
		n = defaultHistory
	}
	n = min(n, mostHistory, len(s.history))
	out := history{Entries: slices.Clone(s.history[len(s.history)-n:]), Total: s.forms}
	if out.Entries == nil {
		out.Entries = []entry{}
	}
	return out, nil
}
