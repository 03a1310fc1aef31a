// Package console looks at the daemon's page in a headless Chromium, with axe-core, which make console fetches.
package console

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/binaries"
	"github.com/toolhost/toolhost/internal/test/browser"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// hostile is the mode of this binary that is a plugin whose every text wants to be more than text.
const hostile plugintest.Mode = "hostile"

// markup would show in a page that made markup of it, hide in one that shows it as it is, and change a terminal.
const (
	markup = `<img src=x onerror="pwned=1"><script>pwned=1</script><b>bold</b>`
	bidi   = "\u202egnp.exe\u2066\x1b[2J"
)

type in struct {
	Text string `json:"text"`
}

func serveHostile() {
	answer := func(_ context.Context, i in) (string, error) {
		fmt.Fprintln(os.Stderr, markup+bidi)
		return i.Text, nil
	}
	pluginsdk.Main(
		pluginsdk.Func("hostile.safe", markup, answer, pluginsdk.Safe(), pluginsdk.Title(markup)),
		pluginsdk.Func("hostile.fail", "Fails.", func(context.Context, in) (string, error) {
			return "", tool.Errorf(tool.CodeToolFailed, "%s%s", markup, bidi)
		}, pluginsdk.Safe()),
		pluginsdk.Func("hostile.danger", markup, answer, pluginsdk.Preview(func(context.Context, in) (tool.Result, error) {
			return tool.Text("--- a\n+++ b\n@@ -1 +1 @@\n-" + markup + "\n+" + bidi + "\n"), nil
		})),
	)
}

func TestMain(m *testing.M) {
	plugintest.Main(m, map[plugintest.Mode]func(){hostile: serveHostile, orders: serveOrders})
}

// world is a daemon, and a browser that shows its page.
type world struct {
	t    *testing.T
	ctx  context.Context //nolint:containedctx // of the test
	dir  string
	args []string
	b    *browser.Browser
	axe  string
}

func newWorld(t *testing.T, plugin plugintest.Mode) *world {
	modules := os.Getenv("TOOLHOST_NODE_MODULES")
	if modules == "" || browser.Program() == "" {
		t.Skip("needs axe-core and Chromium: run make console")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	w := &world{t: t, ctx: ctx, dir: require.Must(os.MkdirTemp("", "th-"))(t)}
	t.Cleanup(func() { _ = os.RemoveAll(w.dir) })
	w.axe = string(require.Must(os.ReadFile(filepath.Join(modules, "axe-core", "axe.min.js")))(t))
	plugins, root, config := plugintest.Dir(t, plugin), filepath.Join(w.dir, "shop"), filepath.Join(w.dir, "toolhost.yaml")
	built := binaries.Build(t, "cmd/toolhost", "plugins/fs")
	binaries.Install(t, filepath.Join(built, "fs"), filepath.Join(plugins, "fs"))
	require.NoError(t, os.Mkdir(root, 0o700))
	require.NoError(t, os.WriteFile(config, []byte("approvals: {ask: [queue]}\ncallers: {nightly: {}, reviewer: {}, support: {}}\n"), 0o600))
	w.args = []string{filepath.Join(built, "toolhost"), "--root", root, "--plugin-dir", plugins, "--config", config}
	w.b = require.Must(browser.Start(ctx))(t)
	t.Cleanup(w.b.Close)
	return w
}

func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(w.ctx, w.args[0], append(args, w.args[1:]...)...) //nolint:gosec // toolhost
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "TOOLHOST_") && !strings.HasPrefix(kv, "XDG_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+w.dir, "XDG_DATA_HOME="+w.dir, "TOOLHOST_CACHE_DIR="+filepath.Join(w.dir, "cache"),
		"TOOLHOST_SOCKET="+filepath.Join(w.dir, "socket"), "TMPDIR="+w.dir)
	return cmd
}

// run returns what a command prints, of whatever status.
func (w *world) run(args ...string) string {
	w.t.Helper()
	var out bytes.Buffer
	cmd := w.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // it may fail
	return out.String()
}

// serve starts a daemon, until stop.
func (w *world) serve(args ...string) (stop func()) {
	w.t.Helper()
	cmd := w.command(append([]string{"serve"}, args...)...)
	said := require.Must(cmd.StderrPipe())(w.t)
	require.NoError(w.t, cmd.Start())
	lines := bufio.NewScanner(said)
	for lines.Scan() && !strings.Contains(lines.Text(), "toolhost: ready: ") {
	}
	go func() {
		for lines.Scan() {
		}
	}()
	stop = func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Wait()
		}
	}
	w.t.Cleanup(stop)
	return stop
}

// open opens the page.
func (w *world) open() *browser.Page {
	w.t.Helper()
	link := strings.TrimSpace(w.run("console", "--no-open"))
	p := require.Must(w.b.Open(w.ctx, link, browser.Options{Width: 1280, Height: 900}))(w.t)
	require.NoError(w.t, p.Until(w.ctx, `location.pathname.startsWith("/p/") && document.querySelector("#link.live")`))
	if _, word, _ := strings.Cut(link, "#"); word == "" || strings.Contains(w.text(p, "location.href + document.referrer + history.length"), word) {
		w.t.Errorf("the link is still there: %s", link)
	}
	return p
}

func (w *world) text(p *browser.Page, expression string) (s string) {
	w.t.Helper()
	require.NoError(w.t, p.Eval(w.ctx, "String("+expression+")", &s))
	return s
}

// until waits until an expression is true, and says what is there if it never is.
func (w *world) until(p *browser.Page, expression string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, 20*time.Second)
	defer cancel()
	if err := p.Until(ctx, expression); err != nil {
		w.t.Fatalf("%s: %v; the page is\n%s", expression, err, w.text(p, "location.hash + document.title + document.body.innerText"))
	}
}

// shows waits until the page shows a text.
func (w *world) shows(p *browser.Page, texts ...string) {
	w.t.Helper()
	for _, text := range texts {
		w.until(p, fmt.Sprintf("document.body.innerText.includes(%q)", text))
	}
}

// press focuses what a selector finds, and presses a key there.
func (w *world) press(p *browser.Page, selector, key string) {
	w.t.Helper()
	w.until(p, fmt.Sprintf("document.querySelector(%q)", selector))
	require.NoError(w.t, p.Eval(w.ctx, fmt.Sprintf("document.querySelector(%q).focus()", selector), nil))
	require.NoError(w.t, p.Press(w.ctx, key))
}

// checks has axe look at the view that is shown, on four screens.
func (w *world) checks(p *browser.Page, view string) {
	w.t.Helper()
	for _, o := range []browser.Options{{Width: 360, Height: 800}, {Width: 360, Height: 800, Dark: true}, {Width: 1280, Height: 900, Dark: true}, {Width: 1280, Height: 900}} {
		require.NoError(w.t, p.Show(w.ctx, o))
		if w.text(p, "typeof axe") == "undefined" {
			require.NoError(w.t, p.Eval(w.ctx, w.axe+";0", nil))
		}
		var found []json.RawMessage
		const run = `axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations.map((v) => ({id: v.id, nodes: v.nodes.map((n) => n.failureSummary + n.html)})))`
		require.NoError(w.t, p.Eval(w.ctx, run, &found))
		for _, f := range found {
			w.t.Errorf("%s, %+v: %s", view, o, f)
		}
		if wide := w.text(p, "document.documentElement.scrollWidth > innerWidth ? document.documentElement.scrollWidth : ''"); wide != "" {
			w.t.Errorf("%s is %s wide on %d", view, wide, o.Width)
		}
	}
	made := `document.querySelectorAll("main img, main script, main b, main iframe").length + String(window.pwned)` +
		` + /[\u202a-\u202e\u2066-\u2069\x1b]/.test(document.documentElement.textContent)`
	if got := w.text(p, made); got != "0undefinedfalse" {
		w.t.Errorf("%s: a text is more than text: %s", view, got)
	}
}

// Each view shows what it should to each reader, and what strangers wrote is text in all of them.
func TestPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hostile)
	stop := w.serve()
	w.run("call", "hostile.safe", "--arg", "text="+markup+bidi)
	p := w.open()
	var id struct{ ID string }
	require.NoError(t, json.NewDecoder(strings.NewReader(w.run("call", "hostile.fail", "--arg", "text="+markup+bidi, "--json"))).Decode(&id))

	w.press(p, `a[href="#calls"]`, "Enter")
	w.shows(p, "hostile.fail", "tool_failed")
	w.checks(p, "calls")
	w.press(p, `a[href="#call/`+id.ID+`"]`, "Enter")
	w.shows(p, "Where the time went", "Arguments, as on record", `<b>bold</b>`, `\u202egnp`, "Most of the time")
	w.checks(p, "call")
	w.press(p, `a[href="#plugins"]`, "Enter")
	w.shows(p, "hostile", "ready")
	w.checks(p, "plugins")
	w.press(p, `a[href="#plugin/hostile"]`, "Enter")
	w.shows(p, "Enforced by", `<script>pwned=1</script>`, "hostile.danger", "it is the first time")
	w.checks(p, "plugin")
	w.press(p, `a[href="#tools"]`, "Enter")
	w.shows(p, "hostile.safe", "dangerous")
	w.checks(p, "tools")
	w.press(p, `a[href="#tool/hostile.danger"]`, "Enter")
	w.shows(p, `"type": "object"`, markup)
	w.checks(p, "tool")
	if got := w.text(p, "document.activeElement.localName + document.title"); got != "h1hostile.danger – toolhost" {
		t.Errorf("the focus and the title of a view: %s", got)
	}

	// Questions: one is approved here, one denied, and one is answered elsewhere meanwhile.
	ask := func(text string) (ended <-chan string) {
		done := make(chan string, 1)
		go func() { done <- w.run("call", "hostile.danger", "--arg", "text="+text) }()
		w.until(p, `document.title.startsWith("(1) ")`)
		w.press(p, `a[href="#inbox"]`, "Enter")
		w.shows(p, "hostile.danger")
		return done
	}
	ended := ask("one" + markup)
	w.checks(p, "inbox")
	w.press(p, `main td a`, "Enter")
	w.shows(p, "It waits for your answer", "one<img", `\u202egnp`)
	assert.Equalf(t, w.text(p, `document.querySelectorAll(".added, .removed").length`), "4", "coloured lines of the preview")
	w.checks(p, "question")
	w.press(p, ".answer button", "Enter")
	assert.Containsf(t, <-ended, "one<img", "it was approved")
	w.shows(p, "It is closed: approved by the console of process ")
	ended = ask("two")
	w.press(p, `main td a`, "Enter")
	w.shows(p, "It waits for your answer")
	require.NoError(t, p.Eval(w.ctx, `document.getElementById("reason").value = "not <b>today</b>"`, nil))
	w.press(p, ".answer .danger", " ")
	assert.Containsf(t, <-ended, "not <b>today</b>", "it was denied")
	ended = ask("three")
	w.b = require.Must(browser.Start(w.ctx))(w.t)
	t.Cleanup(w.b.Close)
	other := w.open()
	for _, one := range []*browser.Page{p, other} {
		require.NoError(t, one.Eval(w.ctx, `location.hash = "#inbox"`, nil))
		w.press(one, `main td a`, "Enter")
		w.shows(one, "It waits for your answer")
	}
	for _, one := range []*browser.Page{other, p} { // p may know by itself
		require.NoError(t, one.Eval(w.ctx, `document.querySelector(".answer button")?.click()`, nil))
		w.shows(one, "It is closed: approved by the console of process ")
	}
	<-ended

	// A plugin is disabled, after a question, from which Escape leaves it as it is.
	require.NoError(t, p.Eval(w.ctx, `location.hash = "#plugin/hostile"`, nil))
	w.press(p, ".actions .danger", "Enter")
	w.shows(p, "Disable hostile?")
	require.NoError(t, p.Press(w.ctx, "Escape"))
	w.until(p, `!document.querySelector("dialog")`)
	w.press(p, ".actions .danger", "Enter")
	w.press(p, "dialog .danger", "Enter")
	w.until(p, `document.querySelector("main dl").innerText.includes("disabled")`)
	w.until(p, `document.querySelector(".actions").hidden`)
	w.run("plugins", "enable", "hostile")
	w.until(p, `!document.querySelector(".actions").hidden`) // another has enabled it
	w.press(p, ".actions button", "Enter")
	w.shows(p, "Restart hostile?")
	w.press(p, "dialog .danger", "Enter")
	w.until(p, `document.querySelector("#said").textContent === "hostile was restarted."`)

	w.press(p, `a[href="#now"]`, "Enter")
	w.shows(p, "calls a second", "cli")
	w.checks(p, "now")
	w.press(other, "nav button", "Enter")
	w.shows(other, "You have left.")
	w.checks(other, "left")
	stop()
	w.shows(p, "no answer, trying again", "If it was started again, the command toolhost console opens another page.")
	w.checks(p, "lost")
}
