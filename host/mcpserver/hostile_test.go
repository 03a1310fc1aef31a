package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const hello = `{"jsonrpc":"2.0","id":"h","method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}` + "\n" +
	`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"

// rawClient is a client on real pipes that sends what it likes.
func rawClient(t testing.TB, s *mcpserver.Server) (to *os.File, from *bufio.Scanner, ended <-chan error) {
	t.Helper()
	theirs, to, err := os.Pipe()
	require.NoError(t, err)
	answers, ours, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = to.Close(); _ = answers.Close() })
	done := make(chan error, 1)
	go func() {
		done <- s.Run(context.Background(), &mcpserver.StdioTransport{In: theirs, Out: ours})
		_ = ours.Close()
	}()
	lines := bufio.NewScanner(answers)
	lines.Buffer(nil, 1<<20)
	return to, lines, done
}

// What is too long, half, or not a message, many times in a row, ends the connection, and nothing
// else: not the calls of others.
func TestFramesThatAreNone(t *testing.T) {
	t.Parallel()
	h := loaded(t, plugintest.Fixture)
	s := serve(t, h, mcpserver.Options{})
	other := ways[1].connect(t, s, nil)
	for name, c := range map[string]struct {
		frames io.Reader
		why    string
	}{
		"half": {strings.NewReader(hello + `{"jsonrpc":"2.0","id":1,"meth`), ""},
		"64 MiB": {io.MultiReader(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`),
			io.LimitReader(zeros{}, 64<<20), strings.NewReader(`"}}`+"\n")), "more than 16 MiB"},
		"flood":  {strings.NewReader(hello + strings.Repeat("this is not JSON\n", 1000)), "more than 100 lines in a row"},
		"binary": {io.LimitReader(zeros{}, 1<<30), "more than 16 MiB"},
	} {
		to, from, ended := rawClient(t, s)
		go func() {
			_, _ = io.Copy(to, c.frames)
			_ = to.Close()
		}()
		go func() {
			for from.Scan() {
			}
		}()
		select {
		case err := <-ended:
			if c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
				t.Errorf("%s: %v", name, err)
			}
			_ = to.Close()
		case <-time.After(ceiling):
			t.Fatalf("%s: the connection is open", name)
		}
	}
	assert.Equalf(t, text(call(t, other, "test_echo", `{"a":1}`)), `{"a":1}`, "the other client")
}

// nonsense is what is not a message, with the code that it is answered with.
var nonsense = map[string]string{
	"this is not JSON": "-32700", `{"jsonrpc":"2.0","id":1,"method":"ping"`: "-32700", "\x00\xff\xfe": "-32700",
	`{"jsonrpc":"2.0","id":1,"method":"ping"} {}`: "-32700",
	"7": "-32600", "null": "-32600", "{}": "-32600", "[]": "-32600", "[7]": "-32600", `{"jsonrpc":"2.0","id":1}`: "-32600",
	`{"jsonrpc":"1.0","id":1,"method":"ping"}`: "-32600", `{"jsonrpc":"2.0","id":{},"method":"ping"}`: "-32600",
	`{"jsonrpc":"2.0","id":1,"method":7}`: "-32600", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`: "-32600",
	strings.Repeat("[", 5000) + strings.Repeat("]", 5000): "-32600",
}

// A line that is not a message is answered, and the connection goes on.
func TestMalformedLines(t *testing.T) {
	t.Parallel()
	to, from, _ := rawClient(t, serve(t, loaded(t, plugintest.Fixture), mcpserver.Options{}))
	say := func(line string) string {
		t.Helper()
		require.Must(io.WriteString(to, line+"\n"))(t)
		if !from.Scan() {
			t.Fatalf("after %.50q the connection has ended", line)
		}
		return from.Text()
	}
	say(strings.TrimSpace(hello))
	for line, code := range nonsense {
		assert.Containsf(t, say(line), `"id":null,"error":{"code":`+code, "%.50q", line)
		assert.Containsf(t, say(`{"jsonrpc":"2.0","id":2,"method":"ping"}`), `"id":2,"result"`, "after %.50q", line)
	}
}

// The first revision has batches, and no other.
func TestBatches(t *testing.T) {
	t.Parallel()
	h := loaded(t, plugintest.Fixture)
	const batch = `[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","id":"b","method":"ping"}]`
	const twice = `[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","id":"a","method":"ping"}]`
	for version, want := range map[string]string{"2025-03-26": `[{"jsonrpc":"2.0","id":"a"`, "2025-06-18": "-32600", "2025-11-25": "-32600"} {
		to, from, _ := rawClient(t, serve(t, h, mcpserver.Options{}))
		require.Must(io.WriteString(to, strings.ReplaceAll(hello, "2025-11-25", version)))(t)
		from.Scan()
		for _, c := range [][2]string{{batch, want}, {twice, "-32600"}} {
			require.Must(io.WriteString(to, c[0]+"\n"))(t)
			if !from.Scan() || !strings.Contains(from.Text(), c[1]) {
				t.Errorf("%s: %s: %s", version, c[0], from.Text())
			}
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// Of 10,000 requests at once those beyond the limit are refused, and the others run on.
func TestOpenRequestsAreBounded(t *testing.T) {
	t.Parallel()
	h := loaded(t, plugintest.Fixture)
	const limit = 50
	all := 10_000
	if testing.Short() {
		all = 1000
	}
	s := serve(t, h, mcpserver.Options{MaxOpen: limit})
	to, from, ended := rawClient(t, s)
	go func() {
		out := bufio.NewWriter(to)
		_, _ = out.WriteString(hello)
		for i := range all {
			_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"test_wait","arguments":{"key":"k"}}}`+"\n", i)
		}
		_ = out.Flush()
	}()
	refused := 0
	for refused < all-limit && from.Scan() {
		var m struct {
			ID    any
			Error struct {
				Code    int
				Message string
			}
		}
		require.NoError(t, json.Unmarshal(from.Bytes(), &m))
		if m.Error.Code == -32000 && strings.Contains(m.Error.Message, "50 requests are open, and that is the limit") {
			refused++
		} else if m.ID != "h" { // also the result of a call, whose place another one would have
			t.Fatalf("unexpected: %s", from.Bytes())
		}
	}
	assert.Equalf(t, refused, all-limit, "%d of %d were refused", refused, all)
	_ = to.Close()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	require.Eventually(t, "all calls have ended", func() bool {
		out := h.Call(context.Background(), tool.Call{Name: "test.waited", Arguments: json.RawMessage(`{"key":"k"}`)})
		var n struct{ Began, Ended int }
		_ = json.Unmarshal([]byte(out.Content), &n)
		return n.Began == n.Ended
	})
}

// Sessions are bounded, for one caller at half of all.
func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	require.NoError(t, h.Register(echo("t.a")))
	front := func(o mcpserver.Options) string {
		s := httptest.NewServer(authenticated(serve(t, h, o).Handler()))
		t.Cleanup(s.Close)
		return s.URL
	}
	begin := func(url, who string) string {
		return post(t, url, who, "", strings.SplitAfter(hello, "\n")[0]).text
	}
	bounded, refused := front(mcpserver.Options{MaxSessions: 20}), 0
	for range 100 {
		if strings.Contains(begin(bounded, "ann"), "too many sessions are open") {
			refused++
		}
	}
	if refused != 90 {
		t.Errorf("%d of 100 sessions of one caller were refused", refused)
	}
	assert.Containsf(t, begin(bounded, "ben"), `"result"`, "another caller")
}

// When all sessions are taken, the one that was idle for longest of the caller with most of them makes room,
// and none in which a call is in progress.
func TestTwoCallersLockNoThirdOut(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	begun, release := make(chan bool, 1), make(chan bool)
	slow := echo("t.slow")
	slow.Handler = func(context.Context, tool.Call) (tool.Result, error) {
		begun <- true
		<-release
		return tool.Text("slow"), nil
	}
	require.NoError(t, h.Register(slow))
	s := httptest.NewServer(authenticated(serve(t, h, mcpserver.Options{MaxSessions: 4}).Handler()))
	t.Cleanup(s.Close)
	connect := func(who string) *mcp.ClientSession {
		t.Helper()
		return require.Must(mcp.NewClient(&mcp.Implementation{Name: who}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: s.URL, HTTPClient: &http.Client{Transport: bearer(who)}, DisableStandaloneSSE: true, MaxRetries: -1,
		}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"}))(t)
	}
	busy, idle := connect("ann"), connect("ann")
	others := []*mcp.ClientSession{connect("ben"), connect("ben")}
	ended := make(chan error, 1)
	go func() {
		_, err := busy.CallTool(t.Context(), &mcp.CallToolParams{Name: "t_slow"})
		ended <- err
	}()
	<-begun
	third := connect("cat")
	if _, err := idle.ListTools(t.Context(), nil); err == nil {
		t.Error("the session that was idle for longest is still there")
	}
	for _, c := range append(others, third) {
		require.Must(c.ListTools(t.Context(), nil))(t)
	}
	close(release)
	if err := <-ended; err != nil {
		t.Errorf("the call in progress ends with %v", err)
	}
}

// Sessions of clients that are silent end, and not before their time.
func TestSessionsAreIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var given []*host.Session
		by := frontInMemory(t, authenticated(serve(t, h, mcpserver.Options{
			MaxSessions: 2, // one for each caller
			Session: func(context.Context, mcpserver.Client) (*host.Session, error) {
				given = append(given, h.Session())
				return given[len(given)-1], nil
			},
		}).Handler()))
		begin := func() { postBy(t, by, "http://memory", "ann", "", strings.SplitAfter(hello, "\n")[0]) }
		const idle = time.Hour // by default
		begin()
		time.Sleep(idle - time.Second)
		if begin(); len(given) != 1 {
			t.Errorf("the first session is not there any more")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if begin(); len(given) != 2 {
			t.Errorf("the first session is still there")
		}
		for range given[0].Changes() { // closed with the session
			t.Error("an idle session is open")
		}
	})
}

// A request that is too large is refused.
func TestLargeRequests(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	front := httptest.NewServer(serve(t, h, mcpserver.Options{MaxRequestBytes: 1000}).Handler())
	t.Cleanup(front.Close)
	code, body := raw(t, front.URL, "tools/list", "", `,"x":"`+strings.Repeat("x", 2000)+`"`, nil)
	assert.Equalf(t, code, http.StatusRequestEntityTooLarge, "%d %s", code, body)
}

// answered is the answer to a request.
type answered struct {
	status int
	header http.Header
	text   string
}

// post sends a body as a caller, and returns the answer.
func post(t *testing.T, url, who, version, body string) answered {
	t.Helper()
	return postBy(t, http.DefaultClient, url, who, version, body)
}

func postBy(t *testing.T, by *http.Client, url, who, version, body string) answered {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + who,
		"Mcp-Protocol-Version": version,
	} {
		req.Header.Set(name, value)
	}
	res, err := by.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	return answered{res.StatusCode, res.Header, readAll(t, res.Body)}
}

// A body that is not a message is answered with a JSON-RPC error, in each revision.
func TestMalformedBodies(t *testing.T) {
	t.Parallel()
	front := httptest.NewServer(authenticated(serve(t, newHost(t), mcpserver.Options{}).Handler()))
	t.Cleanup(front.Close)
	for _, version := range []string{"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		for body, code := range nonsense {
			if version == "2025-03-26" && strings.HasPrefix(body, "[{") {
				continue // a batch
			}
			got := post(t, front.URL, "ann", version, body)
			if got.status != http.StatusBadRequest || got.header.Get("Content-Type") != "application/json" ||
				!strings.Contains(got.text, `"id":null,"error":{"code":`+code) {
				t.Errorf("%s: %.50q: %d %s", version, body, got.status, got.text)
			}
		}
	}
}

// A caller has so many requests a second, and its calls of tools are not among them.
func TestRequestRate(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	require.NoError(t, h.Register(echo("t.a")))
	front := httptest.NewServer(authenticated(serve(t, h, mcpserver.Options{MaxRate: 1}).Handler()))
	t.Cleanup(front.Close)
	send := func(who, method, params string) answered {
		t.Helper()
		return post(t, front.URL, who, "", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params))
	}
	var got answered
	for range 10_000 { // it takes a second to be allowed another one
		if got = send("ann", "ping", "{}"); got.status != http.StatusOK {
			break
		}
	}
	if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "1" || !strings.Contains(got.text, "-32000") {
		t.Errorf("%+v", got)
	}
	for range 20 {
		if got := send("ann", "tools/call", `{"name":"t_a"}`); got.status == http.StatusTooManyRequests {
			t.Fatalf("a call of a tool: %s", got.text)
		}
	}
	if got := send("ben", "ping", "{}"); got.status != http.StatusOK {
		t.Errorf("another caller: %+v", got)
	}
}
