package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/excerpt"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Bounds of what a client is shown of a call, in bytes.
const (
	maxShownArguments = 4 << 10
	maxShownPreview   = 8 << 10
)

// ClientApprover returns an approver that asks the MCP client that makes the call, by
// elicitation: the message has the tool, its arguments as it would get them, and its preview.
// Decisions are recorded as made by "client NAME", as no one knows whether a person made them.
//
// # Errors
//
// [policy.ErrCannotAsk] if the call is not an MCP client's, or the client shows no questions.
func ClientApprover() policy.Approver { return policy.ApproverFunc(approveByClient) }

func approveByClient(ctx context.Context, r policy.Request) (policy.Decision, error) {
	run, _ := ctx.Value(runKey{}).(*running)
	if run == nil {
		return policy.Decision{}, cannotAsk("the call is not one of an MCP client")
	}
	if !run.last().elicits(&mcp.ElicitParams{}) {
		return policy.Decision{}, cannotAsk(fmt.Sprintf("the client %s shows no questions (it does not support elicitation)",
			sanitize.Line(run.client.name(), 100)))
	}
	message := "Allow " + sanitize.Line(r.Definition.Name, 200)
	if r.Plugin != "" {
		message += " of " + sanitize.Line(r.Plugin, 200)
	}
	message += " to run?\n\n" + shownArguments(r.Call.Arguments)
	if r.Preview != nil {
		res, err := r.Preview(ctx)
		switch {
		case err == nil && res.IsError:
			return policy.Decision{Verdict: policy.Fail}, nil
		case err == nil:
			message += "\n\nWhat the tool says it would do:\n" + bounded(sanitize.Text(res.Text()), maxShownPreview)
		case tool.CodeOf(err) != tool.CodeNotFound:
			message += "\n\nThe tool's preview failed: " + sanitize.Line(err.Error(), 500)
		}
	}
	res, err := run.Elicit(ctx, &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: yesOrNo})
	if err != nil {
		return policy.Decision{}, err
	}
	d := policy.Decision{By: "client " + sanitize.Line(run.client.name(), 100)}
	switch tool.Action(res.Action) {
	case tool.Accept:
		d.Verdict = policy.Allow
	case tool.Decline:
		d.Reason = "it was declined"
	default:
		d.Reason = "the question was not answered"
	}
	return d, nil
}

func (c *clientSession) name() string {
	if c.info.Name == "" {
		return "unknown"
	}
	return c.info.Name
}

// cannotAsk is an error that is [policy.ErrCannotAsk].
func cannotAsk(why string) error { return fmt.Errorf("%s: %w", why, policy.ErrCannotAsk) }

// shownArguments returns arguments for a person: indented, with nothing hidden, and with what is
// missing said before them.
func shownArguments(args json.RawMessage) string {
	const head = "Arguments:\n"
	if len(args) == 0 {
		return head + "{}"
	}
	var b bytes.Buffer
	if len(args) <= maxShownArguments && json.Indent(&b, args, "", "  ") == nil {
		if text := sanitize.Text(b.String()); len(text) <= maxShownArguments {
			return head + text
		}
	}
	text, missing := excerpt.Of(args, maxShownArguments)
	if missing != "" {
		missing += "\n\n"
	}
	return missing + head + text
}

// bounded returns at most limit bytes of s, and says what is missing.
func bounded(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	cut := strings.ToValidUTF8(s[:limit], "")
	return fmt.Sprintf("%s\n… (%d bytes more are not shown)", cut, len(s)-len(cut))
}
