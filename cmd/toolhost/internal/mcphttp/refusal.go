package mcphttp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
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
