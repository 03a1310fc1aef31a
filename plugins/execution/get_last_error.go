package main

import (
	"context"

	"github.com/toolhost/toolhost/plugins/execution/internal/session"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const lastErrorDescription = `Returns the session's last failure of eval_form or compile_form: the form, the message and, if the program crashed, the stack.`

type lastError struct {
	Found bool             `json:"found" jsonschema:"a form of the session has failed"`
	Error *session.Failure `json:"error,omitempty"`
}

func getLastError(e *evaluator) tool.Tool {
	get := func(ctx context.Context, _ struct{}) (lastError, error) {
		s, unlock, err := e.session(ctx)
		if err != nil {
			return lastError{}, err
		}
		defer unlock()
		return lastError{Found: s.Last != nil, Error: s.Last}, nil
	}
	return pluginsdk.Func("get_last_error", lastErrorDescription, get,
		pluginsdk.Title("Show the last failure"), pluginsdk.Safe(), pluginsdk.Categories("execution", "debugging"),
		pluginsdk.Permission(tool.Exec), pluginsdk.Idempotent(2))
}
