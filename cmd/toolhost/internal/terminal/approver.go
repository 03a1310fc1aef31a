package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/excerpt"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// maxArguments is how much of the arguments a question shows, in characters.
const maxArguments = 2000

// Approver asks the person at a terminal about calls. It implements [policy.Approver].
type Approver struct {
	Terminal Terminal
	Colored  bool // a preview that is a diff is colored
}

// Approve shows the whole call and asks. Only a clear yes allows it. It does not ask about a
// call that would fail.
func (a Approver) Approve(ctx context.Context, r policy.Request) (policy.Decision, error) {
	preview, ok := a.preview(ctx, r)
	if !ok {
		return policy.Decision{Verdict: policy.Fail}, nil
	}
	limit := ""
	if end, ok := ctx.Deadline(); ok {
		limit = fmt.Sprintf("(no answer within %v is a no) ", time.Until(end).Round(time.Second))
	}
	yes, err := Confirm(ctx, a.Terminal, describe(r)+preview, "Run it? [y/N] "+limit)
	switch {
	case errors.Is(err, ErrClosed):
		return policy.Decision{Verdict: policy.Deny, Reason: err.Error(), By: "end of the terminal"}, nil
	case err != nil:
		_, _ = io.WriteString(a.Terminal, "\n")
		return policy.Decision{}, err
	case yes:
		return policy.Decision{Verdict: policy.Allow, By: "terminal"}, nil
	}
	return policy.Decision{Verdict: policy.Deny, Reason: "the person at the terminal said no", By: "terminal"}, nil
}

func describe(r policy.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s) wants to run.\n", r.Call.Name, r.Definition.Safety.Effective())
	fmt.Fprintf(&b, "  what:      %s\n", output.Shorten(output.FirstLine(r.Definition.Description), 200))
	fmt.Fprintf(&b, "  plugin:    %s\n", output.OrDash(r.Plugin))
	if r.Via != "" { // else it is the person's own command
		fmt.Fprintf(&b, "  caller:    %s\n", sanitize.Line(From(r.Caller, r.Via, r.Client), 300))
	}
	text, missing := shownArguments(r.Call.Arguments)
	if missing != "" {
		fmt.Fprintf(&b, "  hidden:    %s\n", missing)
	}
	fmt.Fprintf(&b, "  arguments:\n%s\n", output.Indent(text, "    "))
	return b.String()
}

// From says who makes a call, by which way and with which program.
func From(caller, via, client string) string {
	from := output.OrDash(caller)
	if via != "" {
		from += ", by " + via
	}
	if client != "" {
		from += " from " + client + " (its own word)"
	}
	return from
}

// shownArguments returns the arguments as a person has to judge them, and what is to be said before
// them: what is cut may be what matters.
func shownArguments(args []byte) (text, missing string) {
	if len(args) == 0 {
		return "{}", ""
	}
	if text, omitted := cut(output.PrettyJSON(args), maxArguments); omitted == 0 {
		return text, ""
	}
	return excerpt.Of(args, maxArguments)
}

// cut returns at most limit characters of a text, and how many more it has.
func cut(text string, limit int) (shown string, omitted int) {
	n := utf8.RuneCountInString(text)
	if n <= limit {
		return text, 0
	}
	return string([]rune(text)[:limit]), n - limit
}
