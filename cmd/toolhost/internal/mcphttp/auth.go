package mcphttp

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/time/rate"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/crowd"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/token"
)

// identity is who sent a request.
type identity struct {
	caller  string
	id      string      // of the token, or its subject
	expires time.Time   // of the token; zero: it does not
	counts  func() bool // the token counts still
}

type identityKey struct{}

// authenticated passes on the requests of callers, without their tokens.
func (s *Server) authenticated(next http.Handler) http.Handler {
	admitted := auth.RequireBearerToken(func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		by, ok := ctx.Value(identityKey{}).(identity)
		if !ok {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: by.caller, Expiration: by.expires}, nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(withoutCredentials(next))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, missing := bearer(r)
		by, err := s.identify(r.Context(), text, missing)
		if err != nil {
			s.refuseCaller(w, r, err, missing)
			return
		}
		if s.logins.first(by.caller + " " + by.id) {
			s.options.Login(by.caller, by.id, r.RemoteAddr, 1, nil)
		}
		r = r.WithContext(context.WithValue(r.Context(), identityKey{}, by))
		admitted.ServeHTTP(w, r)
	})
}

// withoutCredentials removes what a client authenticates with: nothing behind needs it, and
// tools and upstream servers must not get it.
func withoutCredentials(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"Authorization", "Proxy-Authorization", "Cookie"} {
			r.Header.Del(name)
		}
		next.ServeHTTP(w, r)
	})
}

// bearer returns the token of a request. Missing reports that it has none.
func bearer(r *http.Request) (text string, missing bool) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return "", true
	}
	fields := strings.Fields(values[0])
	if len(values) > 1 || len(fields) != 2 || !strings.EqualFold(fields[0], "Bearer") {
		return "", false
	}
	return fields[1], false
}

// identify returns whose token it is.
//
// # Errors
//
// A [refusal].
func (s *Server) identify(ctx context.Context, text string, missing bool) (identity, error) {
	switch {
	case missing:
		return identity{}, refusal{
			status: http.StatusUnauthorized, code: "invalid_request",
			text: "this server answers callers with a token: make one with toolhost tokens new NAME, and send it as Authorization: Bearer",
		}
	case strings.HasPrefix(text, token.Prefix):
		return s.ofToken(text)
	}
	issuer := s.issuers.of(s.options.Settings().OIDC)
	if issuer == nil || strings.Count(text, ".") != 2 {
		return identity{}, invalidToken("the token is not one of this server's: toolhost tokens new makes one")
	}
	who, err := issuer.verify(ctx, text)
	if err != nil {
		if errors.Is(err, errUnavailable) {
			return identity{}, refusal{
				status: http.StatusServiceUnavailable, code: "temporarily_unavailable", retry: issuerPause, cause: err,
				text: "the token cannot be checked now, as its issuer does not answer: try again",
			}
		}
		s.options.Log.Debug("a token of the issuer is refused", "error", err)
		return identity{}, invalidToken("the token is not valid here: its signature, issuer, audience or time is not right")
	}
	caller, ok := s.options.CallerOf(who.subject)
	if !ok {
		return identity{}, refusal{
			status: http.StatusForbidden, code: "unknown_caller",
			text: "the token is valid, and its subject is not a caller of this server: the operator can add it to callers in the configuration",
		}
	}
	return identity{caller, who.subject, who.expires, func() bool {
		now, ok := s.options.CallerOf(who.subject)
		return ok && now == caller && s.issuers.of(s.options.Settings().OIDC) == issuer
	}}, nil
}

func (s *Server) ofToken(text string) (identity, error) {
	one, err := s.options.Tokens.Check(text)
	switch {
	case err == nil:
		return identity{one.Caller, one.ID, one.Expires, func() bool { return s.options.Tokens.Counts(one.ID) }}, nil
	case errors.Is(err, token.ErrUnknown), errors.Is(err, token.ErrExpired):
		return identity{}, invalidToken(err.Error())
	}
	s.options.Log.Error("no token can be checked", "error", err)
	return identity{}, refusal{
		status: http.StatusServiceUnavailable, code: "temporarily_unavailable", retry: time.Minute,
		text: "the list of tokens cannot be read: the server's log says why",
	}
}

func invalidToken(text string) refusal {
	return refusal{status: http.StatusUnauthorized, code: "invalid_token", text: text}
}

// refuseCaller answers a request whose token does not count.
func (s *Server) refuseCaller(w http.ResponseWriter, r *http.Request, err error, missing bool) {
	var why refusal
	if !errors.As(err, &why) {
		why = refusal{status: http.StatusInternalServerError, code: "server_error", text: "the token could not be checked"}
	}
	if why.status == http.StatusUnauthorized && !missing {
		if from := crowd.Network(r.RemoteAddr); !s.failures.Allow(from, 1, failureRate, failureBurst) {
			w.Header().Set("Connection", "close")
			why = refusal{status: http.StatusTooManyRequests, code: "slow_down", text: "too many wrong tokens came from this address", retry: 10 * time.Second}
		} else {
			s.options.Log.Debug("a token is refused", "from", from, "reason", why.text)
		}
	}
	if why.status == http.StatusUnauthorized {
		challenge(w.Header(), why, missing, s.metadataURL(r))
	}
	s.turnAway(w, r, why)
}

// How many wrong tokens an address may send: a burst, and then one in a while. Right tokens are
// not counted and pass at any time: addresses are shared, by a proxy's clients above all.
const (
	failureBurst = 20
	failureRate  = rate.Limit(1)
)
