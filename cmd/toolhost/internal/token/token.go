// Package token keeps the bearer tokens of callers that come over the network. Only their
// digests are on disk: a token is shown once, when it is made. Begin with [Open].
package token

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/state"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Prefix begins each token, so that scanners for secrets find those that leak.
const Prefix = "tht_"

// Any matches a token.
var Any = lazy.Regexp(Prefix + `[A-Za-z0-9_-]+`)

// fileName is the file in the user's state directory.
const fileName = "tokens.json"

// most bounds the tokens of a user: each request with a token is compared with all.
const most = 1000

// Entry is what is kept of a token.
type Entry struct {
	// ID identifies the token in lists and for revoking. It is not secret.
	ID string `json:"id"`
	// Caller is the caller of the configuration that the token's bearer is.
	Caller string `json:"caller"`
	// SHA256 is the digest of the token, in hex. A token has 256 random bits, so a slow hash
	// would protect it no better.
	SHA256  string    `json:"sha256"`
	Created time.Time `json:"created"`
	// Expires is when the token ends; zero: it does not.
	Expires time.Time `json:"expires,omitzero"`
	// Used is the day (UTC) of the last request with the token, such as 2026-11-22; empty: none.
	Used string `json:"used,omitempty"`
}

// Expired reports whether the token has ended.
func (e Entry) Expired(now time.Time) bool { return !e.Expires.IsZero() && !now.Before(e.Expires) }

// entries are the content of the file, in the order in which they were made.
type entries struct {
	Tokens []Entry `json:"tokens"`
}

// Store is the list of tokens of a user. It is safe for concurrent use, by several processes
// too.
type Store struct{ file state.File[entries] }

// Open returns the store of this user.
//
// # Errors
//
// A plain error if there is no directory for state.
func Open() (*Store, error) {
	file, err := state.In[entries](fileName)
	if err != nil {
		return nil, fmt.Errorf("there is no place for tokens: %w", err)
	}
	return &Store{file}, nil
}

// In returns the store in a directory.
func In(dir string) *Store { return &Store{state.File[entries]{Path: filepath.Join(dir, fileName)}} }

// Path returns the path of the file.
func (s *Store) Path() string { return s.file.Path }

// New makes a token for a caller, which ends after so long; 0: it does not end. The token is
// not kept, and cannot be shown again.
//
// # Errors
//
// [tool.CodeResourceExhausted] if there are too many; those of the file.
func (s *Store) New(caller string, lifetime time.Duration) (string, Entry, error) {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // it does not fail
	text := Prefix + base64.RawURLEncoding.EncodeToString(secret[:])
	one := Entry{
		ID: strings.ToLower(rand.Text()[:12]), Caller: caller, SHA256: digest(text),
		Created: time.Now().UTC().Truncate(time.Second),
	}
	if lifetime > 0 {
		one.Expires = one.Created.Add(lifetime)
	}
	err := s.file.Update(func(all *entries) error {
		if len(all.Tokens) >= most {
			return tool.Errorf(tool.CodeResourceExhausted, "there are %d tokens, and no more are kept", most).
				Try("revoke those that are not used, with toolhost tokens revoke NAME")
		}
		all.Tokens = append(all.Tokens, one)
		return nil
	})
	if err != nil {
		return "", Entry{}, err
	}
	return text, one, nil
}

// List returns all tokens, in the order in which they were made.
//
// # Errors
//
// Those of the file.
func (s *Store) List() ([]Entry, error) {
	all, err := s.file.Read()
	return all.Tokens, err
}

// Revoke removes the tokens of a caller, or the token of an ID, and returns them.
//
// # Errors
//
// [tool.CodeNotFound] if there is none; those of the file.
func (s *Store) Revoke(nameOrID string) ([]Entry, error) {
	var gone []Entry
	err := s.file.Update(func(all *entries) error {
		of := func(e Entry) bool { return e.Caller == nameOrID }
		if !slices.ContainsFunc(all.Tokens, of) {
			of = func(e Entry) bool { return e.ID == nameOrID }
		}
		all.Tokens = slices.DeleteFunc(all.Tokens, func(e Entry) bool {
			if of(e) {
				gone = append(gone, e)
			}
			return of(e)
		})
		if len(gone) == 0 {
			return tool.Errorf(tool.CodeNotFound, "there is no token of a caller %s, nor with that ID", nameOrID).
				Try("toolhost tokens shows them")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return gone, nil
}

// use notes the day on which tokens were used.
func (s *Store) use(day string, ids map[string]bool) error {
	return s.file.Update(func(all *entries) error {
		for i := range all.Tokens {
			if ids[all.Tokens[i].ID] {
				all.Tokens[i].Used = day
			}
		}
		return nil
	})
}

func digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// find returns the entry of a token. It compares with all, each in constant time.
func find(all []Entry, token string) (Entry, bool) {
	sum, at := []byte(digest(token)), -1
	for i := range all {
		if subtle.ConstantTimeCompare(sum, []byte(all[i].SHA256)) == 1 {
			at = i
		}
	}
	if at < 0 {
		return Entry{}, false
	}
	return all[at], true
}
