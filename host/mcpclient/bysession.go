package mcpclient

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A server that speaks all revisions may ask as only sessions let it, because it was written before there was another
// way. Its SDK refuses that where the newest revision was agreed on, which shows in a call first.

// bySession ends what such a server is said to speak, by which it is known in later processes.
const bySession = " (its questions need a session)"

// sessionRefusal is how the SDKs of Go word that refusal, go-sdk and mcp-go.
var sessionRefusal = lazy.Regexp(
	`(cannot be sent while serving a request on|server-initiated requests are not supported in) protocol version`)

// needsSession returns an error if a call failed, by its result or else by err, because the server needs a session: it
// is connected to again, with one. The call is not repeated here, as it ran up to its question: what repeats idempotent
// calls may.
func (l *link) needsSession(result json.RawMessage, err error) error {
	said := failureIn(result)
	if result == nil && err != nil {
		said = err.Error()
	}
	mixed := l.begun != nil // a session that the server may take to be of the newest revision, which it was asked for as well
	if l.u.config.Version != "" || !l.stateless() && !mixed || !sessionRefusal().MatchString(said) {
		return nil
	}
	for method, kind := range asksFor {
		if !strings.Contains(said, method) || !l.u.config.Questions.allows(kind) {
			continue
		}
		l.u.sessions.Store(true)
		if l.to.Renew != nil {
			l.to.Renew(l.Description().SDK)
		}
		return tool.Errorf(tool.CodeUnavailable,
			"the MCP server %s asks in a way that needs a session, which the next call has", l.u.config.Name).
			Of("", l.u.config.Name).At(callstage.Execute).Try("call again, if repeating the call does no harm").
			Fix("mcp_servers." + l.u.config.Name + ".revision: " + lastWithSessions + " begins with one")
	}
	return nil
}

// failureIn returns what the result of a tool says of a failure that has to do with the protocol; empty: it is none.
func failureIn(result json.RawMessage) string {
	if !bytes.Contains(result, []byte(" protocol version")) { // most results
		return ""
	}
	var said struct {
		IsError bool            `json:"isError"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(result, &said) != nil || !said.IsError {
		return ""
	}
	return string(said.Content)
}
