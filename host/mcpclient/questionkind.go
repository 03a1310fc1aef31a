package mcpclient

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/internal/mcpjson"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// questionKind is a kind of question: its key in the configuration, and its word on record.
type questionKind string

const (
	askElicitation questionKind = "elicitation"
	askSampling    questionKind = "sampling"
	askRoots       questionKind = "roots"
)

// asksFor has the kinds by the methods that ask.
var asksFor = map[string]questionKind{
	"elicitation/create": askElicitation, "sampling/createMessage": askSampling, "roots/list": askRoots,
}

// permit returns the error for a kind that the operator does not let the server ask, and puts that
// on record; empty: any other message is refused elsewhere.
func (l *link) permit(ctx context.Context, k questionKind) error {
	name := l.u.config.Name
	if k == "" || l.u.config.Questions.allows(k) {
		return nil
	}
	err := tool.Errorf(tool.CodePermissionDenied, "the MCP server %s may not ask for %s", name, k).
		Of("", name).Fix("mcp_servers." + name + ".questions." + string(k) + ": true lets it")
	chain.TraceFrom(ctx).Asked(string(k), chain.QuestionRefused, err)
	if l.to.Log != nil && l.faults.Allow() {
		l.to.Log(slog.LevelWarn, err.Message+": "+err.OperatorHint)
	}
	return err
}

// asks is a server's text as a person reads it: behind who asks, and with marks before its other
// lines, so that it looks like nothing of the host's.
func (l *link) asks(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return "MCP server " + l.u.config.Name + " asks: " + strings.ReplaceAll(text, "\n", "\n> ")
}

// serverKey is the member of a question's "_meta" that has the name of the server that asks.
const serverKey = "toolhost/mcp_server"

// named returns the "_meta" of a question that says who asks.
func (l *link) named(meta mcp.Meta) mcp.Meta {
	out := mcp.Meta{}
	maps.Copy(out, meta)
	out[serverKey] = l.u.config.Name
	return out
}

// plain returns the error for a question in which a text hides something, as no description may.
func (l *link) plain(question any) error {
	text, err := json.Marshal(question)
	if err != nil {
		return l.unreadable(err)
	}
	if r, found := mcpjson.Hidden(text); found {
		return tool.Errorf(tool.CodeInvalidResult, "a question of the MCP server %s has a character that does not show, %U",
			l.u.config.Name, r).Of("", l.u.config.Name)
	}
	return nil
}
