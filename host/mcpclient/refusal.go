package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/oauth2"

	"github.com/toolhost/toolhost/host/internal/mcpline"
	"github.com/toolhost/toolhost/internal/address"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// cleanError is an error whose text is fit to be shown: one line, without secrets.
type cleanError struct {
	text string
	err  error
}

func (e *cleanError) Error() string { return e.text }
func (e *cleanError) Unwrap() error { return e.err }

// maxErrorText bounds what an error says, in bytes.
const maxErrorText = 1 << 10

// minSecret is how long a header's value is, at least, to be looked for in texts.
const minSecret = 4

// clean returns err as it can be shown.
func (l *link) clean(err error) error { return l.u.clean(err) }

func (u *Upstream) clean(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	var answer *oauth2.RetrieveError
	if errors.As(err, &answer) { // its text has the body of the answer
		text = fmt.Sprintf("the authorization server refuses: %s %s", answer.ErrorCode, answer.ErrorDescription)
	}
	if u, bad := url.Parse(u.config.URL); bad == nil && u.RawQuery != "" {
		text = strings.ReplaceAll(text, "?"+u.RawQuery, "?…")
		text = strings.ReplaceAll(text, u.RawQuery, "…")
	}
	for _, secret := range u.secrets() {
		if len(secret) >= minSecret {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return &cleanError{sanitize.Line(text, maxErrorText), err}
}

// refusal returns the error of a connection that could not be made.
func (l *link) refusal(err error) error {
	err = l.clean(err)
	if !l.denied.Load() {
		return err
	}
	return tool.Errorf(tool.CodeUnavailable, "the MCP server %s does not let the host in: %w", l.u.config.Name, err).
		Of("", l.u.config.Name).At(callstage.Start).Try("ask the operator to authorize the host").
		Fix(remedy.Login.For(l.u.config.Name) + ", or give the server's headers a valid token")
}

// failure returns the error of a call that has no result.
func (l *link) failure(ctx context.Context, call tool.Call, err error) error {
	var already *tool.Error
	theirs := theirError(err)
	out := &tool.Error{Tool: call.Name, Plugin: l.u.config.Name, Stage: callstage.Execute, Err: err}
	name := fmt.Sprintf("tool %s of the MCP server %s", call.Name, l.u.config.Name)
	switch {
	case errors.As(err, &already):
		return already
	case errors.Is(err, mcpline.ErrSkipped):
		out.Code, out.Message = tool.CodeResourceExhausted, name+": its result is not taken: "+mcpline.ErrTooLong.Error()
		out.Hint = "ask for less at once"
	case ctx.Err() != nil:
		out.Code = tool.CodeOf(context.Cause(ctx))
		if out.Code == tool.CodeInternal {
			out.Code = tool.CodeOf(ctx.Err())
		}
		out.Message = name + ": " + ctx.Err().Error()
	case theirs != nil && theirs.Code == jsonrpc.CodeInvalidParams: // an unknown tool, too
		out.Code, out.Message = tool.CodeInvalidArguments, name+" refuses the arguments: "+l.clean(theirs).Error()
		out.Hint = "read the tool's description and schema, and call again with other arguments"
		if !l.stillListed(ctx, call.Name) {
			out.Code, out.Message = tool.CodeNotFound, "Unknown tool: "+call.Name
			out.Hint = "the server does not have it any more; list the tools again"
		}
	case theirs != nil && theirs.Code == jsonrpc.CodeMethodNotFound:
		out.Code, out.Message = tool.CodeUnsupported, name+": the server has no tools: "+l.clean(theirs).Error()
	case theirs != nil && theirs.Code == mcp.CodeMissingRequiredClientCapabilities:
		out.Code, out.Message = tool.CodeUnsupported, name+" asks what whoever made the call cannot answer: "+l.clean(theirs).Error()
		out.Hint = "call it from a client that can"
	case theirs != nil && theirs.Code == mcp.CodeURLElicitationRequired:
		out.Code, out.Message = tool.CodeUnsupported, name+" needs a person first: "+l.clean(theirs).Error()
		out.Hint = "have the caller open " + pagesIn(theirs.Data) + ", and call again"
	case theirs != nil:
		out.Code, out.Message = tool.CodeToolFailed, name+" failed: "+l.clean(theirs).Error()
	case l.u.config.Command != "" && (l.life.Err() != nil || errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed)):
		out.Code, out.Message = tool.CodeCrashed, name+": the server ended during the call: "+l.clean(err).Error()
		out.Hint = "call again, if repeating the call does no harm"
	default:
		out.Code, out.Message = tool.CodeUnavailable, name+" cannot be reached: "+l.clean(err).Error()
		out.Hint = "try again later"
	}
	return out
}

// theirError returns the error that the server answered; nil: it is another's.
func theirError(err error) *jsonrpc.Error {
	const closingServer, closingClient, rejected = -32004, -32003, -32005 // the SDK's own
	var theirs *jsonrpc.Error
	if !errors.As(err, &theirs) || theirs.Code == closingServer || theirs.Code == closingClient || theirs.Code == rejected {
		return nil
	}
	return theirs
}

// pagesIn returns the addresses of the pages that a server wants a person to open, from the data
// of its error.
func pagesIn(data json.RawMessage) string {
	var in struct {
		Elicitations []struct {
			URL string `json:"url"`
		} `json:"elicitations"`
	}
	_ = json.Unmarshal(data, &in)
	var out []string
	for _, e := range in.Elicitations[:min(len(in.Elicitations), maxQuestions)] {
		if u, err := url.Parse(e.URL); err == nil && (u.Scheme == "https" || u.Scheme == "http" && address.IsLoopback(u.Hostname())) {
			out = append(out, sanitize.Line(e.URL, maxErrorText))
		}
	}
	if len(out) == 0 {
		return "the page that the server names"
	}
	return strings.Join(out, " and ")
}

// stillListed lists the tools again and reports whether one is among them.
func (l *link) stillListed(ctx context.Context, name string) bool {
	if l.u.IsOwn(name) {
		return true
	}
	listed, err := l.list(ctx)
	if err != nil {
		return true
	}
	_, there := listed.theirs[name]
	if !there {
		l.relist.trigger(l.life)
	}
	return there
}

// secrets returns what must not be in an error: the values of headers.
func (u *Upstream) secrets() (out []string) {
	for values := range maps.Values(u.config.Headers) {
		for _, value := range values {
			out = append(out, value)
			if _, token, ok := strings.Cut(value, " "); ok {
				out = append(out, token)
			}
		}
	}
	if u.tokens != nil {
		out = append(out, u.tokens.secrets()...)
	}
	return append(out, u.config.OAuth.ClientSecret)
}
