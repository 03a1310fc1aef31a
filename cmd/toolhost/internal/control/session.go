package control

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/toolhost/toolhost/internal/ident"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// SessionInfo is a named session of a daemon.
type SessionInfo struct {
	Caller string `json:"caller"`
	Name   string `json:"name"`
	// ID is what plugins and the audit log know the session by.
	ID string `json:"id"`
	// Began and Used are when its first and its newest call came.
	Began time.Time `json:"began"`
	Used  time.Time `json:"used"`
	// Calls counts the calls in progress.
	Calls int `json:"calls"`
	// Plugins keep state for the session.
	Plugins []string `json:"plugins"`
}

// CheckSession checks the name of a session.
//
// # Errors
//
// [tool.CodeInvalidArguments] for anything but 1 to 64 letters, digits, _, . and -, of which the
// first is a letter or digit.
func CheckSession(name string) error {
	if ident.Valid(name) {
		return nil
	}
	return tool.Errorf(tool.CodeInvalidArguments,
		"a session's name has 1 to 64 letters, digits, _, . and -, and begins with a letter or digit").
		Try("name the session such as work-1")
}

// Sessions returns the named sessions: the caller's own; for the operator, those of all callers.
func (c *Client) Sessions(ctx context.Context) ([]SessionInfo, error) {
	var out []SessionInfo
	err := c.get(ctx, "/v1/sessions", &out)
	return out, c.explain(err)
}

// EndSession ends a session of the caller's own.
//
// # Errors
//
// [tool.CodeNotFound] if the caller has no such session.
func (c *Client) EndSession(ctx context.Context, name string) error {
	return c.explain(c.ask(ctx, http.MethodDelete, "/v1/sessions/"+url.PathEscape(name), nil, nil))
}

func (s *Server) sessions(w http.ResponseWriter, r *http.Request) {
	s.replyLarge(w, r, s.service.Sessions(callerOf(r)))
}

func (s *Server) endSession(w http.ResponseWriter, r *http.Request) {
	if err := s.service.EndSession(callerOf(r), r.PathValue("name")); err != nil {
		fail(w, http.StatusNotFound, err)
		return
	}
	reply(w, struct{}{})
}
