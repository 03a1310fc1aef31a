package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/vt"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/browser"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// picturesVariable names the directory that make pictures writes to.
const picturesVariable = "TOOLHOST_PICTURES"

// orders is the mode of this binary that is a plugin of a shop.
const orders plugintest.Mode = "orders"

type order struct {
	Order int `json:"order"`
	Pause int `json:"pause,omitempty"` // in milliseconds
}

func serveOrders() {
	find := func(_ context.Context, o order) (string, error) {
		time.Sleep(time.Duration(o.Pause) * time.Millisecond)
		if o.Order%41 == 0 {
			return "", tool.Errorf(tool.CodeToolFailed, "order %d was archived", o.Order)
		}
		return fmt.Sprintf("order %d: shipped", o.Order), nil
	}
	pluginsdk.Main(
		pluginsdk.Func("orders.find", "Finds an order.", find, pluginsdk.Safe()),
		pluginsdk.Func("orders.report", "Sums up orders.", find, pluginsdk.Safe()),
		pluginsdk.Func("orders.refund", "Pays the money of an order back.", find, pluginsdk.Preview(func(_ context.Context, o order) (tool.Result, error) {
			return tool.Text(fmt.Sprintf("--- order %d\n+++ order %d\n@@ -1,2 +1,2 @@\n-state: paid\n+state: refunded\n total: 42.00 EUR\n", o.Order, o.Order)), nil
		})),
	)
}

// agent is an MCP client of a caller; call makes a call, and does not wait for its end.
func (w *world) agent(address, caller, client string) (call func(name string, o order)) {
	token, session := strings.TrimSpace(string(require.Must(w.command("tokens", "new", caller).Output())(w.t))), ""
	send := func(id int, method string, params any) {
		text := require.Must(json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}))(w.t)
		r := require.Must(http.NewRequestWithContext(w.ctx, http.MethodPost, "http://"+address+"/mcp", bytes.NewReader(text)))(w.t)
		r.Header = http.Header{
			"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"},
			"Accept": {"application/json, text/event-stream"}, "Mcp-Session-Id": {session},
		}
		if session == "" {
			r.Header.Del("Mcp-Session-Id")
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return // the test is over
		}
		answer, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if session == "" {
			session = res.Header.Get("Mcp-Session-Id")
		}
		if res.StatusCode != http.StatusOK {
			w.t.Errorf("%s: %s %s", method, res.Status, answer)
		}
	}
	send(1, "initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": struct{}{}, "clientInfo": map[string]string{"name": client, "version": "1.0"},
	})
	id := 1
	return func(name string, o order) {
		id++
		go send(id, "tools/call", map[string]any{"name": name, "arguments": o})
	}
}

// top runs toolhost top, and returns the terminal that it draws on.
func (w *world) top(columns, rows int) *vt.SafeEmulator {
	person := require.Must(os.OpenFile("/dev/ptmx", os.O_RDWR, 0))(w.t)
	require.NoError(w.t, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0))
	n := require.Must(unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN))(w.t)
	program := require.Must(os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0))(w.t)
	require.NoError(w.t, unix.IoctlSetWinsize(int(person.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(columns), Row: uint16(rows)})) //nolint:gosec // small
	cmd := w.command("top")
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "NO_COLOR=")
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = program, program, program, []*os.File{program}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	require.NoError(w.t, cmd.Start())
	w.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = person.Close(); _ = program.Close() })
	terminal := vt.NewSafeEmulator(columns, rows)
	go func() { _, _ = io.Copy(person, terminal) }() // what the terminal answers
	go func() { _, _ = io.Copy(terminal, person) }()
	return terminal
}

// draw draws a terminal as an SVG, each run of a style at its place.
func draw(screen *vt.SafeEmulator) string {
	const wide, high, margin = 8.4, 19.0, 14.0
	var b strings.Builder
	width, height := 2*margin+wide*float64(screen.Width()), 2*margin+high*float64(screen.Height())
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f"><rect width="100%%" height="100%%" rx="8" fill="#16181d"/>`+"\n", width, height)
	b.WriteString(`<g font-family="ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14" fill="#d8dee9">` + "\n")
	for y := range screen.Height() {
		for x := 0; x < screen.Width(); {
			first, from, text := screen.CellAt(x, y), x, ""
			for c := first; c != nil && c.Style.Equal(&first.Style); c = screen.CellAt(x, y) {
				text, x = text+c.Content, x+max(1, c.Width)
			}
			s, fill, style := first.Style, "#d8dee9", ""
			if s.Fg != nil {
				r, g, _, _ := s.Fg.RGBA()
				fill = map[bool]string{true: "#f0c674", false: "#f07178"}[g > r/2] // what top has: yellow and red
			}
			at, left := margin+high*float64(y), margin+wide*float64(from)
			if s.Attrs&uv.AttrReverse != 0 {
				fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.0f" fill="%s"/>`, left, at, wide*float64(x-from), high, fill)
				fill = "#16181d"
			}
			if text = strings.TrimRight(text, " "); text == "" {
				continue
			}
			for name, has := range map[string]bool{
				` font-weight="bold"`: s.Attrs&uv.AttrBold != 0, ` opacity="0.6"`: s.Attrs&uv.AttrFaint != 0, ` text-decoration="underline"`: s.Underline != 0,
			} {
				if has {
					style += name
				}
			}
			fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" textLength="%.1f" fill="%s"%s>%s</text>`+"\n",
				left, at+14, wide*float64(len([]rune(text))), fill, style, strings.ReplaceAll(html.EscapeString(text), " ", "\u00a0"))
		}
	}
	return b.String() + "</g>\n</svg>\n"
}

// The README shows pictures, which are there and small.
func TestPicturesOfTheReadme(t *testing.T) {
	t.Parallel()
	const root = "../../.."
	readme, all := string(require.Must(os.ReadFile(filepath.Join(root, "README.md")))(t)), int64(0)
	for _, name := range []string{"docs/pictures/top.svg", "docs/pictures/console.png"} {
		size := require.Must(os.Stat(filepath.Join(root, name)))(t).Size()
		if all += size; size < 1000 || !strings.Contains(readme, "]("+name+")") {
			t.Errorf("%s has %d bytes, or README.md does not show it", name, size)
		}
	}
	if all > 200<<10 {
		t.Errorf("the pictures have %d bytes", all)
	}
}

// make pictures draws a daemon with calls of three callers, one of which waits for a person.
func TestPictures(t *testing.T) {
	t.Parallel()
	dir := os.Getenv(picturesVariable)
	if dir == "" {
		t.Skip("make pictures runs it")
	}
	w := newWorld(t, orders)
	const address = "127.0.0.1:7433"
	w.serve("--mcp", "http", "--listen", address)
	p := w.open()
	screen := w.top(110, 30)
	nightly, reviewer, support := w.agent(address, "nightly", "batch"), w.agent(address, "reviewer", "claude-code"), w.agent(address, "support", "cursor")
	support("orders.refund", order{Order: 1207})
	for i := range 600 {
		nightly("orders.find", order{Order: i, Pause: 5 + i%7*i%11})
		if i%3 == 0 {
			reviewer("orders.find", order{Order: 10 * i, Pause: 20 + i%90})
		}
		if i%150 == 0 || i == 580 {
			reviewer("orders.report", order{Order: i + 1, Pause: 2500})
		}
		time.Sleep(time.Duration(20+i%13*4) * time.Millisecond)
	}
	require.NoError(t, os.MkdirAll(dir, 0o755))
	picture := draw(screen)
	if !strings.Contains(picture, "orders.refund") {
		t.Fatalf("top shows no calls:\n%s", screen.Render())
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "top.svg"), []byte(picture), 0o644)) //nolint:gosec // for all to read
	require.NoError(t, p.Show(w.ctx, browser.Options{Width: 1100, Height: 680}))
	w.shows(p, "orders.refund", "nightly")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "console.png"), require.Must(p.Picture(w.ctx))(t), 0o644)) //nolint:gosec // for all to read
}
