package chain

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Truncated marks the place where text was cut from a result.
const Truncated = "[... truncated ...]"

// Output checks the size of results, in bytes (most; 0: unlimited), what they say besides
// their content, and that structured output is valid under the tool's output schema (nil: none). It
// does not check the schema if the tool failed. Then it cuts text to the
// caller's limit. What a caller is shown of a text as it comes, see [tool.WithDeltas], passes
// through here too, and has the same limits.
//
// # Errors
//
//   - [tool.CodeResourceExhausted] for a result that is too large, or would take
//     too long to check
//   - [tool.CodeInvalidResult] for a result that does not match its schema, or whose _meta or
//     Extra is malformed, or that is not what was streamed of it
//   - the code of the call's context if it ends first
func Output(output *schema.Schema, most int) Middleware {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			limit := traceOf(ctx).caller().ResultLimit
			s := showingFor(ctx, call.Name, most, limit)
			if s != nil {
				ctx = s
			}
			res, err := next(ctx, call)
			if err == nil {
				err = checkResult(ctx, output, most, call.Name, res)
			}
			if s != nil {
				err = s.end(res, err)
			}
			switch {
			case err != nil:
				return tool.Result{}, cutError(err, limit)
			case limit > 0:
				res = cutResult(res, limit)
			}
			if s != nil {
				s.finish(res)
			}
			return res, nil
		}
	}
}

// Limit is [Output] for tools whose results are only checked for their size.
func Limit(most int) Middleware {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			res, err := next(ctx, call)
			if err == nil {
				err = checkResult(ctx, nil, most, call.Name, res)
			}
			if err != nil {
				return tool.Result{}, err
			}
			return res, nil
		}
	}
}

func checkResult(ctx context.Context, output *schema.Schema, most int, name string, res tool.Result) error {
	if n := wire.ResultSize(res); most > 0 && n > most {
		return tool.Errorf(tool.CodeResourceExhausted, "the result of tool %s has %d bytes, more than %d", name, n, most).
			Of(name, "").At(callstage.Output).Try("ask for less at once")
	}
	bad := func(problem string, err error) error {
		return tool.Errorf(tool.CodeInvalidResult, "the result of tool %s %s", name, problem).
			Of(name, "").At(callstage.Output).Because(err).Fix("report this to the tool's author")
	}
	if err := wire.CheckResult(res); err != nil {
		return bad(fmt.Sprintf("cannot be passed on: %v", err), err)
	}
	if output == nil || res.IsError {
		return nil
	}
	if len(res.Structured) == 0 {
		return bad("has no structured output, which its output schema promises", nil)
	}
	if err := output.Check(ctx, res.Structured); err != nil {
		if late := incompleteCheck(err, name, "results"); late != nil {
			late.Tool, late.Stage = name, callstage.Output
			return late
		}
		return bad(fmt.Sprintf("breaks its output schema: %v", err), err)
	}
	return nil
}

// cutResult shortens a result's text to limit characters and says how many are
// missing. It drops structured output that is longer: half a JSON value is not
// JSON.
func cutResult(res tool.Result, limit int) tool.Result {
	if len(res.Structured) > limit && utf8.RuneCount(res.Structured) > limit {
		if len(res.Content) == 0 {
			res.Content = []tool.Content{tool.TextContent{Text: string(res.Structured)}}
		}
		res.Structured = nil
	}
	total, left := 0, limit
	var out []tool.Content
	for _, c := range res.Content {
		var text *string
		kept, resource := c.(tool.ResourceContent)
		plain, ok := c.(tool.TextContent)
		switch {
		case ok:
			text = &plain.Text
		case resource && kept.Blob == nil:
			text = &kept.Text
		default:
			out = append(out, c)
			continue
		}
		n := utf8.RuneCountInString(*text)
		total += n
		if n > left {
			*text = firstRunes(*text, left)
			n = left
		}
		left -= n
		switch {
		case resource:
			out = append(out, kept) // it says where its text is from
		case n > 0:
			out = append(out, plain)
		}
	}
	if total <= limit {
		return res
	}
	out = append(out, tool.TextContent{
		Text: fmt.Sprintf("%s %d of %d characters are missing", Truncated, total-limit, total),
	})
	res.Content = out
	return res
}

// cutError shortens the message and the hint of an error to limit characters each;
// 0: they stay. A handler of this process may put anything into them.
func cutError(err error, limit int) error {
	e := tool.AsError(err)
	if limit == 0 || utf8.RuneCountInString(e.Message) <= limit && utf8.RuneCountInString(e.Hint) <= limit {
		return err
	}
	shorter := *e
	for _, text := range []*string{&shorter.Message, &shorter.Hint} {
		if n := utf8.RuneCountInString(*text); n > limit {
			*text = fmt.Sprintf("%s%s %d of %d characters are missing", firstRunes(*text, limit), Truncated, n-limit, n)
		}
	}
	return &shorter
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
