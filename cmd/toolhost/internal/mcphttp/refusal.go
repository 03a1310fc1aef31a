package mcphttp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// refusal is why a request is not answered.
type refusal struct {
	status int
	code   string // as in RFC 6750, where it has one
	text   string
	retry  time.Duration // when to try again; 0: that is not known
}

// Error implements error.
func (r refusal) Error() string { return r.text }

// refuse answers a request with a refusal.
func refuse(w http.ResponseWriter, r refusal) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	if r.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(int(r.retry.Seconds())))
	}
	w.WriteHeader(r.status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": r.code, "error_description": r.text})
}

// turnAway refuses a request, and has that counted. Those of callers are on record; of others, there is a
// line in the log a minute.
func (s *Server) turnAway(w http.ResponseWriter, r *http.Request, why refusal) {
	by, known := r.Context().Value(identityKey{}).(identity)
	if !known {
		if n := s.nameless.count(); n > 0 {
			s.options.Log.Warn("requests without a caller were turned away", "requests", n, "from", r.RemoteAddr, "reason", why.text)
		}
	}
	s.options.Refused(by.caller, r.Header.Get("Mcp-Name"), why.code, why)
	refuse(w, why)
}

// nameless counts the requests that come from no caller.
type nameless struct {
	mu    sync.Mutex
	since time.Time // the last line
	n     int
}

// count counts one, and returns how many the log is to be told of; 0: none now.
func (c *nameless) count() (tell int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n++; time.Since(c.since) < time.Minute {
		return 0
	}
	tell = c.n
	c.n, c.since = 0, time.Now()
	return tell
}

// challenge says how to come in. Missing says that the request has no token at all, for which
// RFC 6750 wants no error code.
func challenge(h http.Header, r refusal, missing bool, metadata string) {
	value := `Bearer realm="toolhost"`
	if !missing {
		value += fmt.Sprintf(", error=%q, error_description=%q", r.code, r.text)
	}
	if metadata != "" {
		value += fmt.Sprintf(", resource_metadata=%q", metadata)
	}
	h.Set("WWW-Authenticate", value)
}
