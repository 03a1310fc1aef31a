package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// front is a daemon that MCP clients reach over HTTP.
type front struct {
	*serving
	url string
}

var servedAt = regexp.MustCompile(`MCP on (https?://[^/]+)/mcp: each client needs a token`)

// serveMCP starts a daemon that serves MCP clients over HTTP, on a port of its own.
func (w *world) serveMCP(args ...string) *front {
	w.t.Helper()
	s := w.begin(append([]string{"--mcp", "http", "--listen", "127.0.0.1:0"}, args...)...)
	s.await("MCP on ")
	m := servedAt.FindStringSubmatch(s.said[len(s.said)-1])
	if m == nil {
		w.t.Fatalf("it says %q", s.said)
	}
	return &front{s, m[1]}
}

// token makes a token of a caller.
func (w *world) token(name string, args ...string) string {
	w.t.Helper()
	return strings.TrimSpace(w.bare(append([]string{"tokens", "new", name}, args...)...).exits(0).stdout)
}

// hello begins a conversation.
const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
	`"clientInfo":{"name":"tester","version":"7"}}}`

type header map[string]string

// answer is what a server answers, without its body.
type answer struct {
	StatusCode int
	Status     string
	Header     http.Header
}

// ask sends a request, and returns the answer and its body.
func (f *front) ask(method, path, body string, h header) (answer, string) {
	f.w.t.Helper()
	r, err := http.NewRequestWithContext(f.w.t.Context(), method, f.url+path, strings.NewReader(body))
	if err != nil {
		f.w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range h {
		r.Header.Set(name, value)
	}
	r.Host = r.Header.Get("Host")
	got, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		f.w.t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		f.w.t.Fatal(err)
	}
	return answer{got.StatusCode, got.Status, got.Header}, string(text)
}

// bearer is a client of the SDK with a token.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// connect returns an MCP client of another make than the server: the SDK's.
func (f *front) connect(token string, o *mcp.ClientOptions) *mcp.ClientSession {
	f.w.t.Helper()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "7"}, o).Connect(f.w.t.Context(),
		&mcp.StreamableClientTransport{Endpoint: f.url + "/mcp", HTTPClient: &http.Client{Transport: bearer{token}}, MaxRetries: -1},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		f.w.t.Fatal(err)
	}
	f.w.t.Cleanup(func() { _ = c.Close() })
	return c
}

func toolsOf(t *testing.T, c *mcp.ClientSession) (names []string) {
	t.Helper()
	all := require.Must(c.ListTools(t.Context(), nil))(t)
	for _, one := range all.Tools {
		names = append(names, one.Name)
	}
	return names
}

// What must not reach the tools is turned away, whoever sends it.
func TestMCPOverHTTPTurnsAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.configure("mcp: {origins: ['https://app.example'], hosts: [tools.example]}")
	f := w.serveMCP("--config", w.config())
	good, gone := w.token("ci"), w.token("gone")
	w.bare("tokens", "revoke", "gone").exits(0)
	with := func(token string, more ...string) header {
		h := header{"Authorization": "Bearer " + token}
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	for what, c := range map[string]struct {
		method, path, body string
		header             header
		status             int
		says               string
	}{
		"a good one":             {"POST", "/mcp", hello, with(good), 200, `"toolhost"`},
		"by an allowed name":     {"POST", "/mcp", hello, with(good, "Host", "tools.example:80"), 200, `"toolhost"`},
		"of an allowed page":     {"POST", "/mcp", hello, with(good, "Origin", "https://app.example"), 200, `"toolhost"`},
		"a forged Host":          {"POST", "/mcp", hello, with(good, "Host", "evil.example"), 403, "mcp.hosts"},
		"a Host that looks like": {"POST", "/mcp", hello, with(good, "Host", "127.0.0.1.evil.example"), 403, "mcp.hosts"},
		"another address":        {"POST", "/mcp", hello, with(good, "Host", "10.1.2.3"), 403, "mcp.hosts"},
		"a page":                 {"POST", "/mcp", hello, with(good, "Origin", "https://evil.example"), 403, "mcp.origins"},
		"a page of this machine": {"POST", "/mcp", hello, with(good, "Origin", "http://localhost:3000"), 403, "mcp.origins"},
		"a page without origin":  {"POST", "/mcp", hello, with(good, "Origin", "null"), 403, "mcp.origins"},
		"a simple request":       {"POST", "/mcp", hello, header{"Origin": "https://evil.example", "Content-Type": "text/plain"}, 403, "mcp.origins"},
		"a simple one, hidden":   {"POST", "/mcp", hello, header{"Content-Type": "text/plain", "Sec-Fetch-Site": "cross-site"}, 401, "tokens new"},
		"text with a token":      {"POST", "/mcp", hello, with(good, "Content-Type", "text/plain"), 415, ""},
		"a foreign preflight": {
			"OPTIONS", "/mcp", "", header{"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}, 403, "mcp.origins",
		},
		"a preflight": {
			"OPTIONS", "/mcp", "", header{"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}, 204, "",
		},
		"no token":             {"POST", "/mcp", hello, nil, 401, "toolhost tokens new NAME"},
		"no token, GET":        {"GET", "/mcp", "", nil, 401, "toolhost tokens new NAME"},
		"a wrong token":        {"POST", "/mcp", hello, with("tht_" + strings.Repeat("A", 43)), 401, "not known"},
		"half a token":         {"POST", "/mcp", hello, with(good[:20]), 401, "not known"},
		"a revoked token":      {"POST", "/mcp", hello, with(gone), 401, "revoked"},
		"something else":       {"POST", "/mcp", hello, header{"Authorization": "Basic Y2k6Y2k="}, 401, "token"},
		"two words":            {"POST", "/mcp", hello, with(good + " " + good), 401, "token"},
		"a JWT":                {"POST", "/mcp", hello, with("e30.e30.e30"), 401, "token"},
		"a token in the query": {"POST", "/mcp?access_token=" + good, hello, nil, 400, "in logs"},
		"one by another name":  {"POST", "/mcp?x=" + good, hello, with(good), 400, "in logs"},
		"health":               {"GET", "/healthz", "", nil, 200, "ok"},
		"readiness":            {"GET", "/readyz", "", nil, 200, "ready"},
		"health of a page":     {"GET", "/healthz", "", header{"Host": "evil.example"}, 403, ""},
		"metadata of no one":   {"GET", "/.well-known/oauth-protected-resource/mcp", "", nil, 404, ""},
		"another path":         {"GET", "/", "", nil, 404, "/mcp"},
		"64 MiB":               {"POST", "/mcp", "", with(good), 413, ""},
		"64 MiB of a stranger": {"POST", "/mcp", "", nil, 401, ""},
		"not JSON":             {"POST", "/mcp", "{", with(good), 400, ""},
	} {
		if strings.HasPrefix(what, "64 MiB") { // the server may answer and close before all is sent
			f.flood(t, c.header, c.status)
			continue
		}
		answer, text := f.ask(c.method, c.path, c.body, c.header)
		if answer.StatusCode != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s: %s, %.300s", what, answer.Status, text)
		}
		if challenge := answer.Header.Get("WWW-Authenticate"); (c.status == 401) != strings.HasPrefix(challenge, "Bearer ") {
			t.Errorf("%s: WWW-Authenticate is %q", what, challenge)
		}
		page := answer.Header.Get("Access-Control-Allow-Origin")
		if allowed := c.header["Origin"] == "https://app.example"; allowed != (page == "https://app.example") || !allowed && page != "" {
			t.Errorf("%s: pages of %q are allowed", what, page)
		}
		if strings.Contains(text, good) || strings.Contains(text, gone) {
			t.Errorf("%s: it shows a token: %s", what, text)
		}
	}
	// Neither the processes nor what is on record show a token.
	f.ends(syscall.SIGTERM, 0)
	files, _ := filepath.Glob(filepath.Join(w.state, "toolhost", "*"))
	for _, file := range files {
		if text, _ := os.ReadFile(file); bytes.Contains(text, []byte(good[4:])) {
			t.Errorf("%s has the token", file)
		}
	}
	if said := strings.Join(f.said, "\n"); strings.Contains(said, good[4:]) || strings.Contains(said, gone[4:]) {
		t.Errorf("the log has a token:\n%s", said)
	}
}

// flood sends 64 MiB, or as much as the server takes.
func (f *front) flood(t *testing.T, h header, status int) {
	t.Helper()
	conn := require.Must(net.Dial("tcp", strings.TrimPrefix(f.url, "http://")))(t)
	defer func() { _ = conn.Close() }()
	_, _ = fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAuthorization: %s\r\nContent-Length: %d\r\n\r\n",
		h["Authorization"], 64<<20)
	answer := make([]byte, 12)
	if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != fmt.Sprintf("HTTP/1.1 %d", status) {
		t.Errorf("it answers %q, %v, before anything was sent", answer, err)
	}
}

// A token counts from when it is made until it expires or is revoked, without a restart, and ends
// what its bearer waits for.
func TestTokensCountAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player", "fs")
	w.configure("callers: {ci: {grants: ['fs:read']}}")
	f := w.serveMCP("--config", w.config())
	status := func(token string) int {
		answer, _ := f.ask("POST", "/mcp", hello, header{"Authorization": "Bearer " + token})
		return answer.StatusCode
	}
	short := w.token("short", "--expires", "1s")
	for deadline := time.Now().Add(time.Minute); status(short) != 401; { // once a second has gone by
		if time.Now().After(deadline) {
			t.Fatal("a token does not expire")
		}
	}
	first, second := w.token("ci"), w.token("ci", "--expires", "90d")
	o := w.bare("tokens", "new", "stranger").exits(0).says("does not name stranger", "holds no capability")
	if stranger := f.connect(strings.TrimSpace(o.stdout), nil); slices.Contains(toolsOf(t, stranger), "fs_read") {
		t.Error("a caller that the configuration does not name holds a capability")
	}
	if ci := f.connect(first, nil); !slices.Contains(toolsOf(t, ci), "fs_read") {
		t.Error("a caller has not what the configuration grants it")
	}
	var list struct {
		Tokens []struct {
			ID, Caller, Used string
			Configured       bool
		}
	}
	w.until("the day of its use is on record", func() bool {
		w.bare("tokens", "--json").exits(0).json(&list)
		return list.Tokens[1].Used != ""
	})
	if e := list.Tokens[1]; len(list.Tokens) != 4 || e.Caller != "ci" || e.Used != time.Now().UTC().Format(time.DateOnly) || list.Tokens[2].Used != "" {
		t.Errorf("the tokens are %+v", list.Tokens)
	}
	// Who came in is on record once, and so are tokens that do not count.
	status("th_wrong")
	logins := w.bare("audit", "--kind", "admin", "login", "--json").exits(0).stdout
	if n := strings.Count(logins, `"object":"`+list.Tokens[1].ID+`","caller":"ci"`); n != 1 || !strings.Contains(logins, `"code":"permission_denied"`) {
		t.Errorf("%d logins of ci are on record, of\n%s", n, logins)
	}
	// A stream that stays open ends with its token; that of the same caller's other one does not.
	stream := func(token string) (ended chan struct{}) {
		answer, _ := f.ask("POST", "/mcp", hello, header{"Authorization": "Bearer " + token})
		id := answer.Header.Get("Mcp-Session-Id")
		r := require.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, f.url+"/mcp", nil))(t)
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("Mcp-Session-Id", id)
		open, err := (&http.Client{Transport: bearer{token}}).Do(r) //nolint:bodyclose // it is closed when it has ended
		if err != nil || open.StatusCode != http.StatusOK {
			t.Fatalf("%v, %v", open, err)
		}
		ended = make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = io.Copy(io.Discard, open.Body)
			_ = open.Body.Close()
		}()
		return ended
	}
	one, other := stream(first), stream(second)
	w.bare("tokens", "revoke", list.Tokens[1].ID).exits(0).prints("revoked " + list.Tokens[1].ID + " of the caller ci")
	select {
	case <-one:
	case <-time.After(time.Minute):
		t.Error("the stream goes on")
	}
	assert.EqualSlicesf(t, []int{status(first), status(second)}, []int{401, 200}, "the tokens of ci are answered with")
	select {
	case <-other:
		t.Error("the stream of another token ended")
	default:
	}
	w.bare("tokens", "revoke", "ci").exits(0)
	w.bare("tokens", "revoke", "ci").exits(2).says("toolhost tokens")
	w.bare("tokens", "new", "cli").exits(2)
	w.bare("tokens", "new", "a b").exits(2)
	w.bare("tokens", "new", "ci", "--expires", "tomorrow").exits(2).says("90d")
	if info, err := os.Stat(filepath.Join(w.state, "toolhost", "tokens.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the tokens: %v, %v", info.Mode(), err)
	}
	// A list that cannot be read lets no one in, and does not count as empty.
	require.NoError(t, os.WriteFile(filepath.Join(w.state, "toolhost", "tokens.json"), []byte("{"), 0o600))
	assert.Equalf(t, status(second), 503, "with a damaged list, a token is answered with")
	w.bare("tokens").exits(1).says("tokens.json is damaged")
}

// The session of one caller is not one of another, who knows its ID.
func TestSessionsOfMCPBelongToTheirCallers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	f := w.serveMCP()
	ann, bob := w.token("ann"), w.token("bob")
	answer, _ := f.ask("POST", "/mcp", hello, header{"Authorization": "Bearer " + ann})
	id := answer.Header.Get("Mcp-Session-Id")
	list := `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	for _, c := range []struct {
		method, token string
		ok            bool
	}{{"POST", bob, false}, {"GET", bob, false}, {"DELETE", bob, false}, {"POST", ann, true}} {
		answer, text := f.ask(c.method, "/mcp", list, header{"Authorization": "Bearer " + c.token, "Mcp-Session-Id": id, "Mcp-Protocol-Version": "2025-11-25"})
		if ok := answer.StatusCode == http.StatusOK; ok != c.ok || strings.Contains(text, "play_echo") != c.ok {
			t.Errorf("%s: %s %.200s", c.method, answer.Status, text)
		}
	}
}

// Strangers who keep connections open keep no caller out.
func TestIdleConnectionsKeepNoCallerOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.configure("mcp: {limits: {connections: 64}}")
	f := w.serveMCP("--config", w.config())
	token := w.token("ci")
	c := f.connect(token, nil)
	for i := range 1000 {
		conn := require.Must(net.Dial("tcp", strings.TrimPrefix(f.url, "http://")))(t)
		defer func() { _ = conn.Close() }()
		if i%2 == 0 { // half a header
			_, _ = io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
		}
	}
	if answer, text := f.ask("POST", "/mcp", hello, header{"Authorization": "Bearer " + token}); answer.StatusCode != http.StatusOK {
		t.Errorf("a new client: %s %s", answer.Status, text)
	}
	if got := toolsOf(t, c); !slices.Contains(got, "play_echo") {
		t.Errorf("a client that was there sees %q", got)
	}
	f.ends(syscall.SIGTERM, 0) // and the end does not wait for them
}

// Nothing is served in plain text to other machines. A certificate is read again when its files
// change, and while they do not fit, the one before stays.
func TestMCPOverTLS(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	for _, address := range []string{"0.0.0.0:0", "[::]:0", ":0"} {
		w.run("serve", "--mcp", "http", "--listen", address).exits(2).says("plain text", "mcp.tls.cert")
	}
	w.run("serve", "--mcp", "http", "--listen", "nowhere").exits(2).says("--listen")
	w.run("serve", "--listen", "127.0.0.1:0").exits(2).says("--mcp http")
	w.run("serve", "--mcp", "sse").exits(2).says("stdio or http")
	w.run("serve", "--mcp", "http", "--caller", "a").exits(2).says("token")
	w.configure("mcp: {tls: {cert: server.crt, key: server.key}}")
	w.run("serve", "--mcp", "http", "--listen", "127.0.0.1:0", "--config", w.config()).exits(2).says("server.crt")
	one, other := certificateOf(t, "one"), certificateOf(t, "other")
	w.replace("server.crt", one[0])
	w.replace("server.key", one[1])
	f := w.serveMCP("--config", w.config(), "--listen", "0.0.0.0:0")
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(f.url, "https://"))
	name := func(o *tls.Config) string {
		o.InsecureSkipVerify = true
		conn, err := (&tls.Dialer{Config: o}).DialContext(t.Context(), "tcp", "127.0.0.1:"+port)
		if err != nil {
			return err.Error()
		}
		defer func() { _ = conn.Close() }()
		return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	equal(t, "the certificate", name(&tls.Config{}), "one")
	if got := name(&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}); !strings.Contains(got, "protocol version") { //nolint:gosec // it is to be refused
		t.Errorf("with TLS 1.1: %s", got)
	}
	w.replace("server.crt", other[0]) // whose key is not there yet
	w.until("the log says that they do not fit", func() bool {
		name(&tls.Config{}) // the files are looked at with each connection
		select {
		case line := <-f.lines:
			f.said = append(f.said, line)
			return strings.Contains(line, "the one before stays")
		default:
			return false
		}
	})
	equal(t, "the certificate between the two files", name(&tls.Config{}), "one")
	w.replace("server.key", other[1])
	w.until("the new certificate is used", func() bool { return name(&tls.Config{}) == "other" })
	token := w.token("ci")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://127.0.0.1:"+port+"/mcp", strings.NewReader(hello))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	h2 := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	answer, err := h2.Do(r)
	if err != nil || answer.StatusCode != http.StatusOK || answer.ProtoMajor != 2 {
		t.Fatalf("%+v, %v", answer, err)
	}
	_ = answer.Body.Close()
	h2.CloseIdleConnections()
}

// certificateOf returns a certificate and its key, in PEM.
func certificateOf(t *testing.T, name string) [2]string {
	t.Helper()
	key := require.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
	cert := require.Must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	private := require.Must(x509.MarshalPKCS8PrivateKey(key))(t)
	text := func(kind string, b []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}))
	}
	return [2]string{text("CERTIFICATE", cert), text("PRIVATE KEY", private)}
}

// A client that is connected gets what a reload gives its caller, and is told; a binary that is
// copied into the directory reaches it too. At the end, its calls in progress have their time.
func TestMCPClientsFollowTheDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.configure("callers: {ci: {}}")
	f := w.serveMCP("--config", w.config())
	told := make(chan struct{}, 100)
	c := f.connect(w.token("ci"), &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told <- struct{}{} }})
	sees := func(name string, want bool) {
		t.Helper()
		for slices.Contains(toolsOf(t, c), name) != want {
			select {
			case <-told:
			case <-time.After(time.Minute):
				t.Fatalf("the client does not learn that it has %s: %v", name, want)
			}
		}
	}
	sees("play_echo", true)
	w.install("fs", "fs")
	sees("fs_read", false)
	w.configure("callers: {ci: {grants: ['fs:read'], tools: {deny: [play.echo]}}}")
	require.NoError(t, f.cmd.Process.Signal(syscall.SIGHUP))
	sees("fs_read", true)
	sees("play_echo", false)
	w.write("a.txt", "text")
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "fs_read", Arguments: map[string]any{"path": "a.txt"}})
	if err != nil || res.IsError {
		t.Fatalf("%+v, %v", res, err)
	}
	if lines := w.run("audit", "--via", "mcp", "--json").exits(0).stdout; !strings.Contains(lines, `"caller":"ci","via":"mcp","client":"tester 7"`) {
		t.Errorf("on record is %s", lines)
	}
	w.until("the metrics have it", func() bool {
		text := w.over("/metrics")
		return strings.Contains(text, `toolhost_calls_total{caller="ci",code="ok",tool="fs.read"} 1`) &&
			strings.Contains(text, `toolhost_http_requests_total{code="200"}`) && strings.Contains(text, "toolhost_mcp_clients_total 1\n")
	})

	begun, until := filepath.Join(w.tmp, "begun"), filepath.Join(w.tmp, "until")
	for _, fifo := range []string{begun, until} {
		require.NoError(t, syscall.Mkfifo(fifo, 0o600))
		defer func() { _ = os.Remove(fifo) }()
	}
	done := make(chan string, 1)
	go func() {
		res, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: "play_hold", Arguments: map[string]any{"fifo": begun, "until": until}})
		if err != nil {
			done <- err.Error()
			return
		}
		done <- res.Content[0].(*mcp.TextContent).Text
	}()
	if _, err := os.ReadFile(begun); err != nil { // it runs
		t.Fatal(err)
	}
	require.NoError(t, f.cmd.Process.Signal(syscall.SIGTERM))
	f.await("ending: ")
	require.NoError(t, os.WriteFile(until, []byte("answered"), 0o600))
	equal(t, "the call in progress at the end", <-done, "answered")
	for line := range f.lines {
		f.said = append(f.said, line)
	}
	if err := f.cmd.Wait(); err != nil {
		t.Errorf("%v:\n%s", err, strings.Join(f.said, "\n"))
	}
}
