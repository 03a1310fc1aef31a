package tool_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestErrorIsByCode(t *testing.T) {
	t.Parallel()
	sentinels := []error{tool.ErrNotFound, tool.ErrAlreadyExists, context.Canceled, context.DeadlineExceeded, tool.ErrEmptyName}
	for code, want := range map[tool.Code]error{
		tool.CodeNotFound:         tool.ErrNotFound,
		tool.CodeAlreadyExists:    tool.ErrAlreadyExists,
		tool.CodeCanceled:         context.Canceled,
		tool.CodeDeadlineExceeded: context.DeadlineExceeded,
		tool.CodeToolFailed:       nil,
		"":                        nil,
	} {
		err := fmt.Errorf("around: %w", &tool.Error{Code: code, Message: "m"})
		for _, s := range sentinels {
			if got := errors.Is(err, s); got != (s == want) { //nolint:errorlint // the sentinel itself
				t.Errorf("%q: errors.Is(%v) is %v", code, s, got)
			}
		}
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]*tool.Error{
		"what":           {Message: "what", Err: io.EOF},
		"what (do this)": {Message: "what", Hint: "do this"},
		"EOF":            {Code: tool.CodeInternal, Err: io.EOF},
		"EOF (do this)":  {Err: io.EOF, Hint: "do this"},
		"internal":       {Code: tool.CodeInternal},
	} {
		assert.Equal(t, e.Error(), want)
	}
	e := tool.Errorf(tool.CodeRateLimited, "slow down: %w", io.EOF)
	if e.Code != tool.CodeRateLimited || e.Message != "slow down: EOF" || !errors.Is(e, io.EOF) {
		t.Errorf("%+v", e)
	}
}

func TestCodeOf(t *testing.T) {
	t.Parallel()
	coded := &tool.Error{Code: tool.CodeRateLimited}
	for _, c := range []struct {
		err  error
		want tool.Code
	}{
		{nil, ""},
		{io.EOF, tool.CodeInternal},
		{coded, tool.CodeRateLimited},
		{fmt.Errorf("around: %w", coded), tool.CodeRateLimited},
		{&tool.Error{Code: tool.CodeUnavailable, Err: coded}, tool.CodeUnavailable},
		{errors.Join(io.EOF, coded), tool.CodeRateLimited},
		{context.Canceled, tool.CodeCanceled},
		{fmt.Errorf("around: %w", context.DeadlineExceeded), tool.CodeDeadlineExceeded},
	} {
		assert.Equalf(t, tool.CodeOf(c.err), c.want, "%v", c.err)
		e := tool.AsError(c.err)
		if (e == nil) != (c.err == nil) || e != nil && (e.Code != c.want || !errors.Is(c.err, e) && !errors.Is(e, c.err)) {
			t.Errorf("%v as an Error: %+v", c.err, e)
		}
	}
}

func TestExecutionError(t *testing.T) {
	t.Parallel()
	const prefix = "tool a.b execution failed: "
	coded := &tool.Error{
		Code: tool.CodePermissionDenied, Message: "no", Hint: "ask", Detail: "long",
		Stage: callstage.Authorize, Plugin: "p", Err: io.EOF,
	}
	for name, c := range map[string]struct {
		err                  error
		code                 tool.Code
		stage, message, hint string
	}{
		"plain":    {io.EOF, tool.CodeToolFailed, callstage.Execute, "EOF", ""},
		"canceled": {context.Canceled, tool.CodeCanceled, callstage.Execute, "context canceled", ""},
		"deadline": {
			fmt.Errorf("x: %w", context.DeadlineExceeded),
			tool.CodeDeadlineExceeded, callstage.Execute, "x: context deadline exceeded", "",
		},
		"coded": {coded, tool.CodePermissionDenied, callstage.Authorize, "no", "ask"},
		"coded, wrapped": {
			fmt.Errorf("reading: %w", coded), tool.CodePermissionDenied, callstage.Authorize, "reading: no", "ask",
		},
		"code alone":  {&tool.Error{Code: tool.CodeNotFound}, tool.CodeNotFound, callstage.Execute, "not_found", ""},
		"cause alone": {&tool.Error{Err: io.EOF, Hint: "h"}, tool.CodeToolFailed, callstage.Execute, "EOF", "h"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			once := tool.ExecutionError("a.b", c.err)
			for _, e := range []*tool.Error{
				once, tool.ExecutionError("a.b", once), tool.ExecutionError("a.b", fmt.Errorf("again: %w", once)),
			} {
				if e.Code != c.code || e.Stage != c.stage || e.Message != prefix+c.message || e.Hint != c.hint || e.Tool != "a.b" {
					t.Errorf("%+v, want %+v", e, c)
				}
				if !errors.Is(e, c.err) {
					t.Errorf("%v is not in the chain", c.err)
				}
			}
		})
	}
	e := tool.ExecutionError("a.b", coded)
	if e.Detail != "long" || e.Plugin != "p" || !errors.Is(e, io.EOF) {
		t.Errorf("%+v lacks a field of %+v", e, coded)
	}
	if coded.Message != "no" || coded.Tool != "" {
		t.Errorf("the handler's error was changed: %+v", coded)
	}
	e = tool.ExecutionError("other", tool.ExecutionError("a.b", io.EOF))
	assert.Equalf(t, e.Message, "tool other execution failed: "+prefix+"EOF", "an error wrapped for two tools")
}
