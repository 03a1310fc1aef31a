package control

import (
	"context"
	"net/http"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Caller is who sends a request, as the daemon knows it: by the user at the other end of the
// socket.
type Caller struct {
	Name string
	// Operator reports whether the caller may also manage plugins and the daemon.
	Operator bool
}

type callerKey struct{}

// identified finds out who sends a request before it is handled.
func (s *Server) identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := peerOfRequest(r)
		caller, ok := s.service.Caller(who.uid)
		if !ok { // the configuration changed since it connected
			fail(w, http.StatusForbidden, notAdmitted(who))
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)))
	})
}

// callerOf returns who sent a request.
func callerOf(r *http.Request) Caller {
	c, _ := r.Context().Value(callerKey{}).(Caller)
	return c
}

func notAdmitted(who peer) *tool.Error {
	return tool.Errorf(tool.CodePermissionDenied, "user %d is not a caller of this daemon", who.uid).
		Try("name the user under callers in the daemon's configuration, with uid")
}

// operator refuses the requests of callers who are not the operator.
func operator(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if c := callerOf(r); !c.Operator {
			fail(w, http.StatusForbidden, tool.Errorf(tool.CodePermissionDenied,
				"the caller %s may call tools, and not manage the daemon", c.Name).Try("ask the user who runs the daemon"))
			return
		}
		next(w, r)
	}
}
