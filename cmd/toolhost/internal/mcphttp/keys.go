package mcphttp

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"golang.org/x/time/rate"
)

// keySet has the keys of an issuer. A token makes it read them only if it names a key that is not among
// them: a wrong signature by a known one is wrong. Tokens that come at the same time wait for the same reading,
// so strangers, whose tokens name keys that are not there, delay a caller with a new key by keyPause at most.
type keySet struct {
	url    string
	client *http.Client
	pace   *rate.Limiter // of readings

	reading sync.Mutex // held during one; then mu
	mu      sync.Mutex
	keys    map[string][]crypto.PublicKey // by their ID
	absent  map[string]time.Time          // IDs that were not among them when they were read
	began   time.Time                     // the last reading
	err     error                         // of it
}

// Bounds of readings.
const (
	keyBurst = 5
	keyPause = time.Second
	keyAge   = 10 * time.Minute // after which they are read again: one may have been withdrawn
	// absentFor is how long a key that was not there is not looked for.
	absentFor = 5 * time.Second
)

func newKeySet(url string, client *http.Client) *keySet {
	return &keySet{url: url, client: client, pace: rate.NewLimiter(rate.Every(keyPause), keyBurst)}
}

type askedKey struct{}

// VerifySignature implements [oidc.KeySet]. The library does not pass on why the keys could not be read, so
// that is put where the context says.
func (k *keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	var header struct {
		ID string `json:"kid"`
	}
	first, _, _ := strings.Cut(jwt, ".")
	text, err := base64.RawURLEncoding.DecodeString(first)
	if err == nil {
		err = json.Unmarshal(text, &header)
	}
	if err != nil {
		return nil, err
	}
	asked := time.Now()
	known := k.of(header.ID)
	if len(known) > 0 {
		payload, err := (&oidc.StaticKeySet{PublicKeys: known}).VerifySignature(ctx, jwt)
		if err == nil || header.ID != "" { // without an ID it may be by a new one
			return payload, err
		}
	}
	if err := k.read(header.ID, asked); err != nil {
		if out, ok := ctx.Value(askedKey{}).(*error); ok {
			*out = err
		}
		return nil, err
	}
	return (&oidc.StaticKeySet{PublicKeys: k.of(header.ID)}).VerifySignature(ctx, jwt)
}

// of returns the keys with an ID; without one, all. Keys that are old are read again, if that is possible.
func (k *keySet) of(id string) (out []crypto.PublicKey) {
	k.mu.Lock()
	old := k.keys != nil && time.Since(k.began) > keyAge
	k.mu.Unlock()
	if old {
		_ = k.read("", time.Now())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if id != "" {
		return k.keys[id]
	}
	for _, keys := range k.keys {
		out = append(out, keys...)
	}
	return out
}

// read reads the keys, unless that has been done since, or the one that is looked for was not there a
// moment ago.
func (k *keySet) read(id string, since time.Time) error {
	k.reading.Lock()
	defer k.reading.Unlock()
	k.mu.Lock()
	began, err, absent := k.began, k.err, time.Since(k.absent[id]) < absentFor
	k.mu.Unlock()
	if began.After(since) || absent {
		return err
	}
	if err := k.pace.Wait(context.Background()); err != nil {
		return err
	}
	began = time.Now()
	keys, err := k.fetch()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.began, k.err = began, err; err != nil {
		return err
	}
	if k.keys = keys; len(k.absent) >= maxKnown {
		k.absent = nil
	}
	if k.absent == nil {
		k.absent = map[string]time.Time{}
	}
	if id == "" || keys[id] == nil {
		k.absent[id] = began
	}
	return nil
}

func (k *keySet) fetch() (map[string][]crypto.PublicKey, error) {
	answer, err := k.client.Get(k.url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	var all struct {
		Keys []json.RawMessage `json:"keys"`
	}
	text, err := io.ReadAll(answer.Body)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: its keys: %w", errUnavailable, err)
	}
	out := map[string][]crypto.PublicKey{}
	for _, raw := range all.Keys {
		var one jose.JSONWebKey
		if json.Unmarshal(raw, &one) != nil {
			continue // of a kind that no token of ours has
		}
		switch one.Key.(type) {
		case *rsa.PublicKey, *ecdsa.PublicKey, ed25519.PublicKey:
			out[one.KeyID] = append(out[one.KeyID], one.Key)
		}
	}
	return out, nil
}
