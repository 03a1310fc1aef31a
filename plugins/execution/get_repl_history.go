package main

import (
	"context"
	"fmt"

	"github.com/toolhost/toolhost/plugins/execution/internal/session"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const historyDescription = `Returns the session's last forms of eval_form and compile_form with their results, newest last.`

type historyIn struct {
	Limit int `json:"limit,omitempty" jsonschema:"how many of the newest forms"`
}

type history struct {
	Entries []session.Entry `json:"entries" jsonschema:"oldest first, newest last"`
	Total   int             `json:"total" jsonschema:"forms that the session has evaluated or compiled; at most the last 100 are kept"`
}

// Bounds of limit, in forms.
const (
	defaultHistory = 10
	maxHistory     = 50
)

func getHistory(e *evaluator) tool.Tool {
	get := func(ctx context.Context, in historyIn) (history, error) {
		s, unlock, err := e.session(ctx)
		if err != nil {
			return history{}, err
		}
		defer unlock()
		n := in.Limit
		if n <= 0 {
			n = defaultHistory
		}
		n = min(n, maxHistory, len(s.History))
		return history{Entries: append([]session.Entry{}, s.History[len(s.History)-n:]...), Total: s.Forms}, nil
	}
	return pluginsdk.Func("get_repl_history", historyDescription, get,
		pluginsdk.Title("Show the last forms"), pluginsdk.Safe(), pluginsdk.Categories("execution"),
		pluginsdk.Permission(tool.Exec), pluginsdk.Idempotent(2),
		pluginsdk.Argument("limit", fmt.Sprintf(`{"minimum": 1, "maximum": %d, "default": %d}`, maxHistory, defaultHistory)))
}
