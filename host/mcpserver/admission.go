package mcpserver

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"golang.org/x/time/rate"

	"github.com/toolhost/toolhost/host/internal/mcpline"
	"github.com/toolhost/toolhost/host/internal/mcpwire"
)

// burstTime is of how many seconds the requests may come at once, as when many clients connect.
const burstTime = 5

// assumed is the revision of a request that names none.
const assumed = "2025-03-26"

// admit reports whether a request is to be answered, and answers it if it is not: because its
// body is not a message, or its sender sends too many.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) bool {
	cost := 1
	if r.Method == http.MethodPost {
		media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if media != "application/json" {
			return true // the SDK refuses it
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.opts.MaxRequestBytes))
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			http.Error(w, fmt.Sprintf("the request has more than %d bytes", tooLarge.Limit), http.StatusRequestEntityTooLarge)
			return false
		}
		if err != nil {
			http.Error(w, "the body of the request cannot be read", http.StatusBadRequest)
			return false
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		messages, err := mcpline.DecodeAll(body)
		if answer := refusal(body, messages, err, cmp.Or(r.Header.Get(versionHeader), assumed)); answer != nil {
			turnAway(w, http.StatusBadRequest, answer)
			return false
		}
		cost = 0
		for _, m := range messages {
			q, ok := m.(*jsonrpc.Request)
			if !ok || !q.IsCall() || q.Method == mcpwire.MethodCall {
				continue
			}
			cost++
			if err := mayListen(q); err != nil {
				answer, _ := mcpline.Encode(&jsonrpc.Response{ID: q.ID, Error: err}) // which is one of ours
				turnAway(w, http.StatusBadRequest, answer)
				return false
			}
		}
	}
	by, most := identityOf(r), s.opts.MaxRate
	if by != "" && cost > 0 && !s.rates.Allow(by, cost, rate.Limit(most), burstTime*most) {
		why := fmt.Sprintf("the caller sends more than %d requests a second besides calls of tools: send them later", most)
		s.turnedAway(by, errors.New(why))
		w.Header().Set("Retry-After", "1")
		turnAway(w, http.StatusTooManyRequests, errorWithoutID(codeBusy, why))
		return false
	}
	return true
}

func turnAway(w http.ResponseWriter, status int, answer []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

// identityOf returns the caller that a request was authenticated as; empty: it was not.
func identityOf(r *http.Request) string {
	if t := auth.TokenInfoFromContext(r.Context()); t != nil {
		return t.UserID
	}
	return ""
}
