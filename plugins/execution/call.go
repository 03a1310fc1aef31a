package main

import (
	"context"
	"encoding/json"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// outcome is what the session remembers of a call.
type outcome struct {
	ok                           bool
	kind, message, stack, result string
}

// onRecord runs one form of the calling session, alone among the session's, and puts
// it on the session's record.
func (e *evaluator) onRecord(ctx context.Context, name string, in formIn, do func(context.Context, *attempt) (outcome, error)) error {
	call := pluginsdk.CallFrom(ctx)
	s := e.sessions.get(call.Session)
	release, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer release()
	free, err := e.slot(ctx)
	if err != nil {
		return err
	}
	defer free()
	private, remove, err := privateDir()
	if err != nil {
		return err
	}
	defer remove()
	s.forms++
	begin := time.Now()
	a := &attempt{evaluator: e, session: s, private: private, anonymous: call.Session == ""}
	done, err := do(ctx, a)
	if err != nil {
		done = outcome{kind: "other", message: err.Error(), result: err.Error()}
	}
	pkg := in.Package
	if a.target != nil {
		pkg = a.target.name
	}
	s.remember(entry{
		Number: s.forms, Tool: name, Package: pkg, Form: in.Form, OK: done.ok, Result: done.result,
		Time: stampTime(begin), Took: time.Since(begin).Round(time.Millisecond).String(),
	})
	if !done.ok {
		s.fail(failure{
			Number: s.forms, Tool: name, Package: pkg, Form: in.Form, Kind: done.kind, Message: done.message, Stack: done.stack,
			Time: stampTime(begin),
		})
	}
	return err
}

// reporting makes a tool's answer readable: as text it is what its String says,
// and one that is not ok is the tool's own failure. The structured answer stays.
func reporting(t tool.Tool) tool.Tool {
	inner := t.Handler
	t.Handler = func(ctx context.Context, call tool.Call) (tool.Result, error) {
		res, err := inner(ctx, call)
		if err != nil || len(res.Structured) == 0 {
			return res, err
		}
		var answer interface{ String() string }
		var ok bool
		switch call.Name {
		case "eval_form":
			var out evaluation
			err = json.Unmarshal(res.Structured, &out)
			answer, ok = out, out.OK
		default:
			var out compilation
			err = json.Unmarshal(res.Structured, &out)
			answer, ok = out, out.OK
		}
		if err != nil {
			return res, nil //nolint:nilerr // the structured answer stands by itself
		}
		text := answer.String()
		if !ok {
			text = "tool " + call.Name + " execution failed: " + text
		}
		res.Content, res.IsError = []tool.Content{tool.TextContent{Text: text}}, !ok
		return res, nil
	}
	return t
}

// cores is how many processors a program can use at a time.
func cores() float64 { return float64(runtime.NumCPU()) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
