package mcphttp

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/hashicorp/go-hclog"
	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/token"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// login is an OpenID Connect issuer.
type login struct {
	*httptest.Server
	t     *testing.T
	key   *ecdsa.PrivateKey
	id    atomic.Value // of the key
	down  atomic.Bool
	asked atomic.Int32 // for its keys
}

func newLogin(t *testing.T) *login {
	t.Helper()
	key := require.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	l := &login{t: t, key: key}
	l.id.Store("one")
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: l.key.Public(), KeyID: l.id.Load().(string), Algorithm: "ES256"}}}
		switch {
		case l.down.Load():
			http.Error(w, "down", http.StatusBadGateway)
			return
		case r.URL.Path == "/keys":
			l.asked.Add(1)
		default:
			answer = map[string]string{"issuer": l.URL, "jwks_uri": l.URL + "/keys", "authorization_endpoint": l.URL, "token_endpoint": l.URL}
		}
		assert.NoError(t, json.NewEncoder(w).Encode(answer))
	}))
	t.Cleanup(l.Close)
	return l
}

// sign returns a token with claims, which change those of a good one.
func (l *login) sign(key jose.SigningKey, change map[string]any) string {
	l.t.Helper()
	return l.signAs(l.id.Load().(string), key, change)
}

// signAs is sign by a key that is called so.
func (l *login) signAs(id string, key jose.SigningKey, change map[string]any) string {
	l.t.Helper()
	signer, err := jose.NewSigner(key, (&jose.SignerOptions{}).WithHeader("kid", id))
	if err != nil {
		l.t.Fatal(err)
	}
	claims := map[string]any{"iss": l.URL, "aud": []string{"other", "toolhost"}, "sub": "ann@login", "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(claims, change)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	text, err := json.Marshal(claims)
	if err != nil {
		l.t.Fatal(err)
	}
	signed, err := signer.Sign(text)
	if err != nil {
		l.t.Fatal(err)
	}
	out, err := signed.CompactSerialize()
	if err != nil {
		l.t.Fatal(err)
	}
	return out
}

func (l *login) token(change map[string]any) string {
	return l.sign(jose.SigningKey{Algorithm: jose.ES256, Key: l.key}, change)
}

// serverFor returns a server that says whose a request is, and what is left of its token.
func serverFor(t *testing.T, settings *config.MCP) (*httptest.Server, *token.Store) {
	t.Helper()
	return serverWith(t, settings, hclog.NewNullLogger())
}

func serverWith(t *testing.T, settings *config.MCP, log hclog.Logger) (*httptest.Server, *token.Store) {
	t.Helper()
	store := token.In(t.TempDir())
	tokens := token.NewChecker(store)
	t.Cleanup(tokens.Close)
	s := require.Must(New(Options{
		Settings: func() config.MCP { return *settings }, Tokens: tokens, Log: log, Refused: func(string, string, string, error) {}, Login: func(string, string, string, int, error) {},
		CallerOf: func(subject string) (string, bool) { return "ann", subject == "ann@login" },
	}))(t)
	s.Ready(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%s%s", auth.TokenInfoFromContext(r.Context()).UserID, r.Header.Get("Authorization"))
	}))
	front := httptest.NewServer(s.handler())
	t.Cleanup(front.Close)
	return front, store
}

// answer is what a server answers, without its body.
type answer struct {
	StatusCode int
	Status     string
	Header     http.Header
}

func ask(t *testing.T, url, token string) (answer, string) {
	t.Helper()
	r := require.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}")))(t)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	got, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = got.Body.Close() }()
	text := require.Must(io.ReadAll(got.Body))(t)
	return answer{got.StatusCode, got.Status, got.Header}, string(text)
}

func settingsFor(l *login) config.MCP {
	return config.MCP{OIDC: config.OIDC{Issuer: l.URL, Audience: "toolhost", Claim: "sub"}, Limits: config.MCPLimits{Requests: 4, Body: 1 << 20}}
}

// A token of the issuer counts if all of it is right, and is that of the caller with its subject.
func TestTokensOfAnIssuer(t *testing.T) {
	t.Parallel()
	l := newLogin(t)
	settings := settingsFor(l)
	front, _ := serverFor(t, &settings)
	other := require.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	good := l.token(nil)
	for what, c := range map[string]struct {
		token  string
		status int
	}{
		"a good one":            {good, 200},
		"just over":             {l.token(map[string]any{"exp": time.Now().Add(-10 * time.Second).Unix()}), 200}, // clocks differ
		"over":                  {l.token(map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}), 401},
		"without an end":        {l.token(map[string]any{"exp": nil}), 401},
		"not yet":               {l.token(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}), 401},
		"with an end in words":  {l.token(map[string]any{"exp": fmt.Sprint(time.Now().Add(time.Hour).Unix())}), 401},
		"for another server":    {l.token(map[string]any{"aud": "other"}), 401},
		"for no server":         {l.token(map[string]any{"aud": nil}), 401},
		"of another issuer":     {l.token(map[string]any{"iss": "https://evil.example"}), 401},
		"of a stranger":         {l.token(map[string]any{"sub": "bob@login"}), 403},
		"of no one":             {l.token(map[string]any{"sub": nil}), 401},
		"of a number":           {l.token(map[string]any{"sub": 7}), 401},
		"by another key":        {l.sign(jose.SigningKey{Algorithm: jose.ES256, Key: other}, nil), 401},
		"by the public key":     {l.sign(jose.SigningKey{Algorithm: jose.HS256, Key: []byte("a secret that is known to everyone")}, nil), 401},
		"unsigned":              {"eyJhbGciOiJub25lIn0." + strings.Split(good, ".")[1] + ".", 401},
		"with other claims":     {strings.Split(good, ".")[0] + ".eyJzdWIiOiJhbm5AbG9naW4ifQ." + strings.Split(good, ".")[2], 401},
		"without its signature": {strings.Join(strings.Split(good, ".")[:2], ".") + ".", 401},
		"nothing":               {"", 401},
	} {
		answer, text := ask(t, front.URL+Path, c.token)
		if answer.StatusCode != c.status || c.status == 200 && text != "ann" {
			t.Errorf("%s: %s %s", what, answer.Status, text)
		}
		challenge := answer.Header.Get("WWW-Authenticate")
		if want := `resource_metadata="` + front.URL + `/.well-known/oauth-protected-resource/mcp"`; (c.status == 401) != strings.Contains(challenge, want) {
			t.Errorf("%s: WWW-Authenticate is %s", what, challenge)
		}
		if c.token != "" && strings.Contains(text, c.token) {
			t.Errorf("%s: the answer has the token: %s", what, text)
		}
	}
	answer, err := http.Get(front.URL + "/.well-known/oauth-protected-resource/mcp")
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	var metadata struct {
		Resource string
		Servers  []string `json:"authorization_servers"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&metadata); err != nil || metadata.Resource != front.URL+"/mcp" || len(metadata.Servers) != 1 || metadata.Servers[0] != l.URL {
		t.Errorf("the metadata is %+v, %v", metadata, err)
	}

	settings.OIDC.Claim = "email"
	for verified, status := range map[any]int{true: 200, false: 401, nil: 401} {
		if answer, text := ask(t, front.URL+Path, l.token(map[string]any{"email": "ann@login", "email_verified": verified})); answer.StatusCode != status {
			t.Errorf("with an email that is verified, %v: %s %s", verified, answer.Status, text)
		}
	}
	settings.OIDC = config.OIDC{} // a reload
	if answer, _ := ask(t, front.URL+Path, good); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("a token of an issuer that was removed is answered with %s", answer.Status)
	}
}

// While an issuer is down, no token of its own counts, except those that were checked before, and
// strangers cannot make this server ask it again and again.
func TestIssuerIsDown(t *testing.T) {
	t.Parallel()
	l := newLogin(t)
	settings := settingsFor(l)
	front, _ := serverFor(t, &settings)
	l.down.Store(true)
	answer, _ := ask(t, front.URL+Path, l.token(nil))
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		t.Errorf("it is down, and the answer is %s", answer.Status)
	}
	l.down.Store(false)
	settings.OIDC.Issuer += "/" // another issuer, which is asked at once; it does not call itself so
	if answer, _ := ask(t, front.URL+Path, l.token(nil)); answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("it calls itself otherwise, and the answer is %s", answer.Status)
	}
	settings.OIDC.Issuer = l.URL
	good := l.token(nil)
	if answer, text := ask(t, front.URL+Path, good); answer.StatusCode != http.StatusOK {
		t.Fatalf("it is there again: %s %s", answer.Status, text)
	}
	l.down.Store(true)
	if answer, _ := ask(t, front.URL+Path, good); answer.StatusCode != http.StatusOK {
		t.Errorf("a token that was checked: %s", answer.Status)
	}
	if answer, _ := ask(t, front.URL+Path, l.token(map[string]any{"jti": "another"})); answer.StatusCode != http.StatusOK {
		t.Errorf("another, with a key that is known: %s", answer.Status)
	}
	l.down.Store(false)
	before := l.asked.Load()
	for i := range 50 {
		ask(t, front.URL+Path, good[:len(good)-8]+fmt.Sprintf("AAAAAA%02d", i))
	}
	if n := l.asked.Load() - before; n != 0 {
		t.Errorf("50 wrong tokens by a key that is known make it ask for the keys %d times", n)
	}
}

// Forged tokens count as wrong ones, by a key that is known or not, and delay no caller with a new key. An
// issuer that is down has one line in the log a minute.
func TestForgedTokens(t *testing.T) {
	t.Parallel()
	l := newLogin(t)
	settings := settingsFor(l)
	var log strings.Builder
	front, _ := serverWith(t, &settings, hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Warn, Mutex: &sync.Mutex{}}))
	l.down.Store(true)
	for range 10 {
		if answer, _ := ask(t, front.URL+Path, l.token(nil)); answer.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("while the issuer is down: %s", answer.Status)
		}
	}
	if n := strings.Count(log.String(), "[WARN]"); n != 1 {
		t.Errorf("%d lines in the log: %s", n, log.String())
	}
	l.down.Store(false)
	front, _ = serverFor(t, &settings)
	if answer, _ := ask(t, front.URL+Path, l.token(nil)); answer.StatusCode != http.StatusOK {
		t.Fatalf("a good one: %s", answer.Status)
	}
	other := jose.SigningKey{Algorithm: jose.ES256, Key: require.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)}
	got := map[int]int{}
	for range 2 * failureBurst {
		answer, _ := ask(t, front.URL+Path, l.sign(other, nil))
		got[answer.StatusCode]++
	}
	for i := range keyBurst {
		answer, _ := ask(t, front.URL+Path, l.signAs(fmt.Sprint("none", i), other, nil))
		got[answer.StatusCode]++
	}
	if got[401] < failureBurst || got[429] < failureBurst || len(got) != 2 {
		t.Errorf("forged tokens are answered with %v", got)
	}
	before := l.asked.Load()
	for range failureBurst {
		ask(t, front.URL+Path, l.signAs("none0", other, nil))
	}
	if n := l.asked.Load() - before; n > 1 {
		t.Errorf("one key that is not there is looked for %d times", n)
	}
	l.key = require.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	l.id.Store("two")
	if answer, text := ask(t, front.URL+Path, l.token(nil)); answer.StatusCode != http.StatusOK {
		t.Errorf("a new key: %s %s", answer.Status, text)
	}
}

// Wrong tokens of an address are bounded; right ones pass.
func TestWrongTokensAreBounded(t *testing.T) {
	t.Parallel()
	settings := config.MCP{Limits: config.MCPLimits{Requests: 4, Body: 1 << 20}}
	front, store := serverFor(t, &settings)
	good, _, err := store.New("ann", 0)
	require.NoError(t, err)
	got := map[int]int{}
	for range 10 * failureBurst {
		answer, _ := ask(t, front.URL+Path, token.Prefix+"wrong")
		got[answer.StatusCode]++
	}
	if got[401] < failureBurst || got[429] < failureBurst || len(got) != 2 {
		t.Errorf("the answers are %v", got)
	}
	if answer, text := ask(t, front.URL+Path, good); answer.StatusCode != http.StatusOK || text != "ann" {
		t.Errorf("a right token: %s %s", answer.Status, text)
	}
}

// A caller who has all the requests that it may have keeps no other out.
func TestRequestsOfACallerAreBounded(t *testing.T) {
	t.Parallel()
	q := &requests{most: 2}
	r := httptest.NewRequest(http.MethodPost, Path, nil)
	_, done, first := q.begin(r, identity{caller: "ann"})
	_, _, second := q.begin(r, identity{caller: "ann"})
	_, _, third := q.begin(r, identity{caller: "ann"})
	_, _, other := q.begin(r, identity{caller: "bob"})
	done()
	_, _, again := q.begin(r, identity{caller: "ann"})
	if !first || !second || third || !other || !again {
		t.Errorf("begun are %v, %v, %v, of another %v, and after an end %v", first, second, third, other, again)
	}
}

// What is not encrypted stays on this machine.
func TestListenOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{"127.0.0.1:0": true, "localhost:0": true, "0.0.0.0:0": false, ":0": false, "nonsense": false, "127.0.0.1:99999": false} {
		ln, err := Listen(address, false, 8)
		assert.Equalf(t, (err == nil), ok, "%s: %v", address, err)
		if err == nil {
			_ = ln.Close()
		}
	}
}
