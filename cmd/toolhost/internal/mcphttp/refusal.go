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
	cause  error         // for the log; nil: the text says it
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
		if n := s.nameless.count(why.code); n > 0 {
			told := []any{"requests", n, "from", r.RemoteAddr, "reason", why.text}
			if why.cause != nil {
				told = append(told, "error", why.cause)
			}
			s.options.Log.Warn("requests without a caller were turned away", told...)
			if why.wrongToken() {
				s.options.Login("", "", r.RemoteAddr, n, why)
			}
		}
	}
	s.options.Refused(by.caller, r.Header.Get("Mcp-Name"), why.code, why)
	refuse(w, why)
}

// wrongToken reports whether the request had a token, and one that does not count.
func (r refusal) wrongToken() bool {
	return r.code == "invalid_token" || r.code == "unknown_caller" || r.code == "slow_down"
}

// nameless counts the requests that come from no caller, by the code of their refusal.
type nameless struct {
	mu sync.Mutex
	of map[string]untold
}

type untold struct {
	since time.Time // the last line
	n     int
}

// count counts one, and returns how many the log is to be told of; 0: none now.
func (c *nameless) count(code string) (tell int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]untold{}
	}
	one := c.of[code]
	if one.n++; time.Since(one.since) >= time.Minute {
		tell, one = one.n, untold{since: time.Now()}
	}
	c.of[code] = one
	return tell
}

// logins are when the tokens that count had a login put on record.
type logins struct {
	mu sync.Mutex
	at map[string]time.Time
}

const maxLogins = 4096

// first reports whether a token is one that had none in the last hour.
func (l *logins) first(token string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.at[token]) < time.Hour {
		return false
	}
	if l.at == nil || len(l.at) >= maxLogins {
		l.at = map[string]time.Time{}
	}
	l.at[token] = time.Now()
	return true
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
