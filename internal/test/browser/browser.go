// Package browser drives a headless Chromium by its own protocol, over a pipe. Begin with [Start].
package browser

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// Browser is a Chromium with a profile of its own.
type Browser struct {
	to   io.Writer
	cmd  *exec.Cmd
	dir  string
	gone chan struct{} // closed when it has ended

	mu      sync.Mutex
	last    int
	waiting map[int]chan answer
}

type answer struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// Program finds Chromium; empty: there is none.
func Program() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Start starts Chromium.
func Start(ctx context.Context) (*Browser, error) {
	dir, err := os.MkdirTemp("", "chromium-")
	if err != nil {
		return nil, err
	}
	args := []string{
		"--headless=new", "--remote-debugging-pipe", "--user-data-dir=" + dir, "--no-first-run", "--disable-gpu", "--hide-scrollbars",
		"--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--lang=en",
	}
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox") // which Chromium has for other users only
	}
	theirs, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	from, theirOut, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	b := &Browser{to: to, dir: dir, gone: make(chan struct{}), waiting: map[int]chan answer{}}
	b.cmd = exec.CommandContext(ctx, Program(), args...) //nolint:gosec // Chromium
	b.cmd.ExtraFiles = []*os.File{theirs, theirOut}      // 3 and 4
	if err := b.cmd.Start(); err != nil {
		return nil, err
	}
	_, _ = theirs.Close(), theirOut.Close()
	go b.read(from)
	return b, nil
}

// Close ends it.
func (b *Browser) Close() {
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait()
	<-b.gone
	_ = os.RemoveAll(b.dir)
}

func (b *Browser) read(from io.Reader) {
	defer close(b.gone)
	for in := bufio.NewReader(from); ; {
		line, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var a answer
		if json.Unmarshal(line[:len(line)-1], &a) != nil || a.ID == 0 {
			continue // an event
		}
		b.mu.Lock()
		b.waiting[a.ID] <- a
		delete(b.waiting, a.ID)
		b.mu.Unlock()
	}
}

// do sends a command, of a page if session is one.
func (b *Browser) do(ctx context.Context, session, method string, params, out any) error {
	b.mu.Lock()
	b.last++
	id, done := b.last, make(chan answer, 1)
	b.waiting[id] = done
	text, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params, "sessionId": session})
	if session == "" {
		text, err = json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	}
	if err == nil {
		_, err = b.to.Write(append(text, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case a := <-done:
		if a.Error != nil {
			return fmt.Errorf("%s: %s", method, a.Error.Message)
		}
		if out == nil {
			return nil
		}
		return json.Unmarshal(a.Result, out)
	case <-b.gone:
		return fmt.Errorf("%s: chromium has ended", method)
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	}
}

// Page is a tab.
type Page struct {
	b       *Browser
	session string
}

// Options are what a page thinks that it is shown on.
type Options struct {
	Width, Height int
	Dark          bool
}

// Open opens a URL in a tab of its own.
func (b *Browser) Open(ctx context.Context, url string, o Options) (*Page, error) {
	var target struct {
		TargetID string `json:"targetId"`
	}
	if err := b.do(ctx, "", "Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return nil, err
	}
	var session struct {
		SessionID string `json:"sessionId"`
	}
	if err := b.do(ctx, "", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session); err != nil {
		return nil, err
	}
	p := &Page{b, session.SessionID}
	if err := p.Show(ctx, o); err != nil {
		return nil, err
	}
	// As if each tab were in a window of its own, which has the focus.
	if err := p.do(ctx, "Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}, nil); err != nil {
		return nil, err
	}
	return p, p.do(ctx, "Page.navigate", map[string]any{"url": url}, nil)
}

func (p *Page) do(ctx context.Context, method string, params, out any) error {
	return p.b.do(ctx, p.session, method, params, out)
}

// Show changes what the page is shown on.
func (p *Page) Show(ctx context.Context, o Options) error {
	scheme := map[bool]string{true: "dark", false: "light"}[o.Dark]
	size := map[string]any{"width": o.Width, "height": o.Height, "deviceScaleFactor": 1, "mobile": false}
	if err := p.do(ctx, "Emulation.setDeviceMetricsOverride", size, nil); err != nil {
		return err
	}
	return p.do(ctx, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
		{"name": "prefers-color-scheme", "value": scheme},
	}}, nil)
}

// Eval evaluates an expression, and waits for it if it is a promise.
func (p *Page) Eval(ctx context.Context, expression string, out any) error {
	var got struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Details *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	params := map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true}
	if err := p.do(ctx, "Runtime.evaluate", params, &got); err != nil {
		return err
	}
	if got.Details != nil {
		return fmt.Errorf("%s: %s %s", expression[:min(80, len(expression))], got.Details.Text, got.Details.Exception.Description)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(got.Result.Value, out)
}

// Until waits until an expression is true, as the page changes. A page that is left takes the expression with it, which
// is evaluated again then.
func (p *Page) Until(ctx context.Context, expression string) error {
	const wait = `new Promise((resolve) => { const look = () => { (%s) ? resolve(true) : setTimeout(look, 20); }; look(); })`
	for {
		err := p.Eval(ctx, fmt.Sprintf(wait, expression), nil)
		if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "navigat") && !strings.Contains(err.Error(), "context") {
			return err
		}
	}
}

// Press presses a key, such as Tab or Enter.
func (p *Page) Press(ctx context.Context, key string) error {
	codes := map[string]int{"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}
	text := map[string]string{"Enter": "\r", " ": " "}[key]
	for _, kind := range []string{"keyDown", "keyUp"} {
		params := map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": codes[key], "text": text}
		if err := p.do(ctx, "Input.dispatchKeyEvent", params, nil); err != nil {
			return err
		}
	}
	return nil
}

// Picture returns what is shown, as a PNG.
func (p *Page) Picture(ctx context.Context) ([]byte, error) {
	var got struct {
		Data string `json:"data"`
	}
	if err := p.do(ctx, "Page.captureScreenshot", map[string]any{"format": "png"}, &got); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(got.Data)
}
