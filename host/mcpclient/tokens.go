package mcpclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"github.com/toolhost/toolhost/internal/state"
)

// authorization is what a login left: a client of an authorization server, and its tokens. It
// is kept in a file that only the user can read.
type authorization struct {
	URL      string           `json:"url"` // the server's, to which alone tokens go
	Issuer   string           `json:"issuer,omitempty"`
	ClientID string           `json:"client_id"`
	Secret   string           `json:"client_secret,omitempty"`
	Redirect string           `json:"redirect_url,omitempty"`
	TokenURL string           `json:"token_url"`
	Style    oauth2.AuthStyle `json:"auth_style"`
	Scopes   []string         `json:"scopes,omitempty"`
	Token    *oauth2.Token    `json:"token,omitempty"`
}

// tokenStore keeps the authorization of one server. It is safe for concurrent use, by several
// processes too.
type tokenStore struct {
	url    string
	issuer string // whose tokens count; empty: any
	file   state.File[authorization]
	client *http.Client

	mu   sync.Mutex
	last authorization // as it was read or written last
	read time.Time
}

// tokenDir is where the tokens of servers are, in the user's state directory.
const tokenDir = "mcp-tokens"

// newTokenStore returns the store of a server; nil if the user has no place to keep it.
func newTokenStore(config Config) *tokenStore {
	dir := config.OAuth.Dir
	if dir == "" {
		base, err := state.Dir()
		if err != nil {
			return nil
		}
		dir = filepath.Join(base, tokenDir)
	}
	sum := sha256.Sum256([]byte(config.URL))
	name := config.Name + "-" + hex.EncodeToString(sum[:8]) + ".json"
	client, _ := oauthClient(config.URL)
	return &tokenStore{
		url: config.URL, issuer: config.OAuth.Issuer, client: client,
		file: state.File[authorization]{Path: filepath.Join(dir, name)},
	}
}

// counts reports whether an authorization is of the server and the issuer of the settings.
func (s *tokenStore) counts(a authorization) bool {
	return a.URL == s.url && (s.issuer == "" || strings.TrimSuffix(a.Issuer, "/") == strings.TrimSuffix(s.issuer, "/"))
}

// rereadAfter is how long a token is used before the file is looked at again, in which another
// process may have put another.
const rereadAfter = 2 * time.Second

// get returns what is kept; the zero value if that is nothing.
func (s *tokenStore) get() (authorization, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last.Token != nil && time.Since(s.read) < rereadAfter {
		return s.last, nil
	}
	if _, err := os.Lstat(s.file.Path); errors.Is(err, os.ErrNotExist) {
		s.last = authorization{}
		return s.last, nil
	}
	a, err := s.file.Read()
	if err != nil {
		return authorization{}, err
	}
	if !s.counts(a) {
		a = authorization{} // of before the settings named another
	}
	s.last, s.read = a, time.Now()
	return a, nil
}

// put keeps an authorization.
func (s *tokenStore) put(a authorization) error {
	a.URL = s.url
	if err := s.file.Update(func(old *authorization) error { *old = a; return nil }); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.read = a, time.Now()
	return nil
}

// Token implements [oauth2.TokenSource]: it refreshes what has expired, and keeps it. Without
// a token it returns one that authorizes nothing.
func (s *tokenStore) Token() (*oauth2.Token, error) {
	a, err := s.get()
	if err != nil {
		return nil, err
	}
	if a.Token == nil || a.Token.Valid() || a.Token.RefreshToken == "" {
		return a.Token, nil
	}
	return s.refresh(a.Token.AccessToken)
}

// refresh gets a new token in place of one that does not count any more. Only one process does
// it: an authorization server may take a refresh token once.
func (s *tokenStore) refresh(old string) (*oauth2.Token, error) {
	var now authorization
	err := s.file.Update(func(a *authorization) error {
		if !s.counts(*a) || a.Token == nil {
			return errNoToken
		}
		if a.Token.AccessToken == old {
			config := oauth2.Config{
				ClientID: a.ClientID, ClientSecret: a.Secret,
				Endpoint: oauth2.Endpoint{TokenURL: a.TokenURL, AuthStyle: a.Style}, Scopes: a.Scopes,
			}
			ctx, stop := context.WithTimeout(context.Background(), answerTime)
			defer stop()
			expired := &oauth2.Token{RefreshToken: a.Token.RefreshToken}
			token, err := config.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, s.client), expired).Token()
			if err != nil {
				return err
			}
			if token.RefreshToken == "" {
				token.RefreshToken = a.Token.RefreshToken
			}
			a.Token = token
		}
		now = *a
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.last, s.read = now, time.Now()
	s.mu.Unlock()
	return now.Token, nil
}

var errNoToken = errors.New("there is no token")

// secrets returns what must not be in an error.
func (s *tokenStore) secrets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []string{s.last.Secret}
	if t := s.last.Token; t != nil {
		out = append(out, t.AccessToken, t.RefreshToken)
	}
	return out
}

// Logout forgets the tokens of the server, and the client that was registered for them.
//
// # Errors
//
// Plain ones of the system.
func (u *Upstream) Logout() error {
	if u.tokens == nil {
		return nil
	}
	if err := os.Remove(u.tokens.file.Path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("MCP server %s: its tokens cannot be removed: %w", u.config.Name, err)
	}
	u.tokens.mu.Lock()
	defer u.tokens.mu.Unlock()
	u.tokens.last, u.tokens.read = authorization{}, time.Now()
	return nil
}
