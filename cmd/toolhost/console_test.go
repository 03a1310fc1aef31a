package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// browser is a client of the console that sends what it is told.
type browser struct {
	t            *testing.T
	origin, path string
	cookie       *http.Cookie
	dial         func(network, address string) (net.Conn, error) // nil: as usual
}

// reply is an answer that was read.
type reply struct {
	StatusCode int
	Status     string
	Header     http.Header
	Cookies    []*http.Cookie
}

// link returns what toolhost console prints, without its secret, and that.
func (w *world) consoleLink(args ...string) (origin, word string) {
	w.t.Helper()
	origin, word, _ = strings.Cut(strings.TrimSpace(w.bare(append([]string{"console", "--no-open"}, args...)...).exits(0).stdout), "/#")
	return origin, word
}

// page opens a page.
func (w *world) page() *browser {
	w.t.Helper()
	b := &browser{t: w.t}
	var word string
	b.origin, word = w.consoleLink()
	res, text := b.open(word)
	var sent struct{ Path string }
	if res.StatusCode != http.StatusOK || json.Unmarshal([]byte(text), &sent) != nil || len(res.Cookies) != 1 {
		w.t.Fatalf("%s: %s", res.Status, text)
	}
	b.path, b.cookie = sent.Path, res.Cookies[0]
	return b
}

func (b *browser) open(word string) (reply, string) {
	return b.post("/open", fmt.Sprintf(`{"link":%q}`, word), nil)
}

// call sends a request of the API.
func (b *browser) call(method, message string) (reply, string) {
	b.t.Helper()
	return b.post(b.path+"toolhost.daemon.v1.Daemon/"+method, message, nil)
}

// post sends a request as the page does, but for what change changes.
func (b *browser) post(path, body string, change func(*http.Request)) (reply, string) {
	b.t.Helper()
	r := require.Must(http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.origin+path, strings.NewReader(body)))(b.t)
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "Connect-Protocol-Version": {"1"}, "Origin": {b.origin},
		"Sec-Fetch-Site": {"same-origin"}, "Sec-Fetch-Mode": {"cors"}, "Sec-Fetch-Dest": {"empty"},
	}
	if b.cookie != nil {
		r.AddCookie(b.cookie)
	}
	if change != nil {
		change(r)
	}
	transport := &http.Transport{DisableKeepAlives: true} // an idle connection makes room for others
	if b.dial != nil {
		transport.DialContext = func(_ context.Context, network, address string) (net.Conn, error) { return b.dial(network, address) }
	}
	res, err := transport.RoundTrip(r)
	require.NoError(b.t, err)
	defer func() { _ = res.Body.Close() }()
	text := require.Must(io.ReadAll(res.Body))(b.t)
	return reply{res.StatusCode, res.Status, res.Header, res.Cookies()}, string(text)
}

// A link lets one browser in, once, and is in no log; a page asks and answers for the operator, by name.
func TestConsole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player", "fs")
	w.configure("approvals: {ask: [queue]}")
	w.bare("console", "--no-open").exits(exit.Unavailable).says("no daemon is running")
	s := w.serve()
	origin, word := w.consoleLink()
	b := &browser{t: t, origin: origin}
	if res, text := b.open(word + "x"); res.StatusCode != http.StatusForbidden || !strings.Contains(text, "toolhost console makes another") {
		t.Errorf("a wrong link: %s %s", res.Status, text)
	}
	res, text := b.open(word)
	c := res.Cookies[0]
	if res.StatusCode != http.StatusOK || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || !strings.Contains(text, c.Path) || len(c.Path) < 40 ||
		strings.Contains(text, c.Value) || c.MaxAge != 0 || c.Domain != "" {
		t.Errorf("%s %+v %s", res.Status, c, text)
	}
	if res, _ := b.open(word); res.StatusCode != http.StatusForbidden {
		t.Errorf("the link counts twice: %s", res.Status)
	}
	one, two := w.page(), w.page()
	if res, text := one.call("GetState", "{}"); res.StatusCode != http.StatusOK || !strings.Contains(text, `"tools":`) {
		t.Errorf("%s %s", res.Status, text)
	}

	// One page answers; the other is told that, and by whom.
	u, q := w.queued("call", "play.danger", "--arg", "text=one")
	one.call("DecideApproval", `{"id":"`+q.ID+`","verdict":"deny","reason":"not \u202e today"}`)
	(<-u.ended).exits(exit.Refused).says(`not \u202e today`)
	const by = "the console of process "
	if res, text := two.call("DecideApproval", `{"id":"`+q.ID+`","verdict":"allow"}`); res.StatusCode == http.StatusOK || !strings.Contains(text, "was denied by "+by) {
		t.Errorf("%s %s", res.Status, text)
	}
	w.run("audit", "--kind", "admin", "--json").exits(0).prints(`"via":"console"`, `"approver":"`+by, `"action":"approvals deny"`, `"action":"login"`, `"code":"permission_denied"`)

	// A call is found whole, and a plugin is disabled as the command does it.
	done := w.run("call", "play.echo", `{"text":"whole"}`, "--json").exits(0)
	var o struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(done.stdout), &o))
	if _, text := one.call("GetCall", `{"id":"`+o.ID+`"}`); !strings.Contains(text, `\"text\":\"whole\"`) || strings.Contains(text, "play.danger") {
		t.Errorf("the call on record: %s", text)
	}
	var status daemonStatus
	w.run("status", "--json").exits(0).json(&status)
	record := require.Must(audit.Open(status.Audit, audit.Options{}))(t)
	require.NoError(t, record.Write(audit.Record{Event: audit.End, Call: "inner", Parent: o.ID, Tool: "play.echo"}))
	require.NoError(t, record.Write(audit.Record{Event: audit.End, Call: "innermost", Parent: "inner", Tool: "play.echo"}))
	require.NoError(t, record.Close())
	if _, text := one.call("GetCall", `{"id":"`+o.ID+`"}`); !strings.Contains(text, `\"call\":\"inner\"`) || !strings.Contains(text, `\"call\":\"innermost\"`) {
		t.Errorf("the call on record has none that was made in it: %s", text)
	}
	one.call("DisablePlugin", `{"name":"player"}`)
	w.run("plugins").exits(0).prints("disabled")
	w.run("plugins", "enable", "player").exits(0)
	w.run("audit", "--kind", "admin").exits(0).prints("plugins disable player")
	if res, _ := one.call("DisablePlugin", `{"name":"absent"}`); res.StatusCode == http.StatusOK {
		t.Errorf("a plugin that is not there: %s", res.Status)
	}

	// Pages end: one that leaves, and all with --close.
	two.post(two.path+"close", "{}", nil)
	if res, text := two.call("GetState", "{}"); res.StatusCode != http.StatusUnauthorized || !strings.Contains(text, "toolhost console opens another") {
		t.Errorf("it has left: %s %s", res.Status, text)
	}
	w.bare("console", "--close").exits(0).prints("pages closed: 2")
	if res, _ := one.call("GetState", "{}"); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("it was closed: %s", res.Status)
	}
	s.ends(syscall.SIGTERM, 0)
	for _, secret := range []string{word, one.cookie.Value, one.path} {
		if strings.Contains(strings.Join(s.said, "\n"), secret) || strings.Contains(w.run("audit", "--json", "-n", "1000").stdout, secret) {
			t.Errorf("a secret is in the log, or on record")
		}
	}
}

// What is not the page's own request is refused, whatever it brings.
func TestConsoleRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.serve()
	b, other := w.page(), w.page()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(b.origin, "http://"))
	header := func(name string, values ...string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Del(name)
			for _, v := range values {
				r.Header.Add(name, v)
			}
		}
	}
	host := func(name string) func(*http.Request) {
		return func(r *http.Request) {
			r.Host = name
			r.Header.Set("Origin", "http://"+name)
		}
	}
	state := b.path + "toolhost.daemon.v1.Daemon/GetState"
	for name, c := range map[string]struct {
		path   string
		change func(*http.Request)
		want   int
	}{
		"as the page does":       {state, nil, 200},
		"by the other name":      {state, host("localhost:" + port), 200},
		"an old browser":         {state, header("Sec-Fetch-Site"), 200},
		"rebinding":              {state, host("evil.example:" + port), 421},
		"rebinding, no port":     {state, host("evil.example"), 421},
		"another port":           {state, host("127.0.0.1:1"), 421},
		"a name that begins so":  {state, host("127.0.0.1.evil.example:" + port), 421},
		"no Origin":              {state, header("Origin"), 403},
		"a page of a stranger":   {state, header("Origin", "https://evil.example"), 403},
		"another port's page":    {state, header("Origin", "http://127.0.0.1:1"), 403},
		"a sandboxed frame":      {state, header("Origin", "null"), 403},
		"two Origins":            {state, header("Origin", b.origin, b.origin), 403},
		"cross-site":             {state, header("Sec-Fetch-Site", "cross-site"), 403},
		"same-site":              {state, header("Sec-Fetch-Site", "same-site"), 403},
		"a form":                 {state, header("Content-Type", "text/plain"), 403},
		"no header of its own":   {state, header("Connect-Protocol-Version"), 403},
		"a read by GET":          {state, func(r *http.Request) { r.Method = http.MethodGet; r.Header.Del("Origin") }, 405},
		"a preflight":            {state, func(r *http.Request) { r.Method = http.MethodOptions }, 403},
		"no cookie":              {state, header("Cookie"), 401},
		"another page's cookie":  {state, func(r *http.Request) { r.Header.Del("Cookie"); r.AddCookie(other.cookie) }, 401},
		"a cookie tossed before": {state, func(r *http.Request) { r.Header.Set("Cookie", b.cookie.Name+"=x; "+b.cookie.Name+"="+b.cookie.Value) }, 200},
		"an unknown path":        {"/p/x/toolhost.daemon.v1.Daemon/GetState", nil, 401},
		"a link in the query":    {"/open?link=x", nil, 400},
		"the query of the page":  {state + "?message={}", nil, 400},
		"what pages may not":     {b.path + "toolhost.daemon.v1.Daemon/Stop", nil, 403},
		"another link":           {b.path + "toolhost.daemon.v1.Daemon/OpenConsole", nil, 403},
		"a call":                 {b.path + "toolhost.daemon.v1.Daemon/Call", nil, 403},
		"numbers":                {b.path + "debug/pprof", nil, 403},
		"out of its path":        {b.path + "toolhost.daemon.v1.Daemon/..%2fGetState", nil, 403},
		"too much for a link": {"/open", func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat(" ", 1<<20))), 1<<20
		}, 400},
	} {
		res, text := b.post(c.path, "{}", c.change)
		assert.Equalf(t, res.StatusCode, c.want, "%s: %s %s", name, res.Status, text)
		if strings.Contains(text, b.cookie.Value) || res.Header.Get("Access-Control-Allow-Origin") != "" || len(res.Cookies) > 0 {
			t.Errorf("%s: it is told %v %s", name, res.Header, text)
		}
	}
	get := func(path, site, mode, dest string) reply {
		res, _ := b.post(path, "", func(r *http.Request) {
			r.Method = http.MethodGet
			r.Header = http.Header{"Sec-Fetch-Site": {site}, "Sec-Fetch-Mode": {mode}, "Sec-Fetch-Dest": {dest}}
		})
		return res
	}
	for _, c := range []struct {
		path, site, mode, dest string
		want                   int
	}{
		{"/", "none", "navigate", "document", 200}, {"/", "cross-site", "navigate", "document", 200}, // a link in a terminal of the web
		{"/", "cross-site", "navigate", "iframe", 403}, {"/files/app.js", "cross-site", "no-cors", "script", 403}, {"/files/app.js", "same-origin", "cors", "script", 200},
		{"/files/..%2fdoor.go", "none", "navigate", "document", 404}, {"/files/nothing.js", "none", "navigate", "document", 404},
	} {
		res := get(c.path, c.site, c.mode, c.dest)
		assert.Equalf(t, res.StatusCode, c.want, "GET %+v: %s", c, res.Status)
		for name, part := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'", "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
		} {
			if !strings.HasPrefix(res.Header.Get(name), part) || strings.Contains(res.Header.Get(name), "unsafe") {
				t.Errorf("GET %+v: %s is %q", c, name, res.Header.Get(name))
			}
		}
	}
}

// Strangers' guesses are one line on record, keep no one out, and neither do their connections.
func TestConsoleUnderGuesses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.serve()
	b := w.page()
	for range 200 {
		conn := require.Must(net.Dial("tcp", strings.TrimPrefix(b.origin, "http://")))(t) //nolint:noctx // at once
		t.Cleanup(func() { _ = conn.Close() })
	}
	for i := range 300 {
		if res, _ := b.open(fmt.Sprint("guess ", i)); res.StatusCode != http.StatusForbidden {
			t.Fatalf("guess %d: %s", i, res.Status)
		}
	}
	for range 16 { // of which the last ends the first
		w.page()
	}
	if res, _ := b.call("GetState", "{}"); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("the 17th page ended none: %s", res.Status)
	}
	if n := strings.Count(w.run("audit", "--code", "permission_denied", "--json").exits(0).stdout, "\n"); n > 2 {
		t.Errorf("the guesses are %d lines on record", n)
	}
}

// Nothing in the page makes markup of text, or sends anything elsewhere.
func TestConsolePageIsPlain(t *testing.T) {
	t.Parallel()
	files := require.Must(filepath.Glob("internal/console/page/*"))(t)
	if len(files) < 8 {
		t.Fatalf("the page is %q", files)
	}
	for _, name := range files {
		text := require.Must(os.ReadFile(name))(t)
		for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacent", "document.write", "DOMParser", "eval(", "Function(", "https://", "style=", "onclick=", "localStorage", "srcdoc"} {
			if bytes.Contains(text, []byte(bad)) {
				t.Errorf("%s has %s", name, bad)
			}
		}
		for _, url := range slices.Collect(strings.SplitSeq(string(text), "http://"))[1:] {
			if !strings.HasPrefix(url, "www.w3.org/2000/svg") {
				t.Errorf("%s has a URL of another: %.40s", name, url)
			}
		}
	}
}
