package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/toolhost/toolhost/internal/test/require"
)

// goplsVersion is the newest that builds with this module's Go.
const goplsVersion = "v0.23.0"

const (
	// installPatience bounds getting gopls, which needs the network the first time.
	installPatience = 10 * time.Minute
	// answerPatience bounds one answer of gopls; the first waits until it has
	// loaded the module.
	answerPatience = 3 * time.Minute
)

// installGopls builds gopls into a directory of the test's, from the Go
// command's caches where they have it.
func installGopls(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), installPatience)
	defer cancel()
	dir := t.TempDir()
	cmd := exec.CommandContext(ctx, "go", "install", "golang.org/x/tools/gopls@"+goplsVersion)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gopls %s cannot be built; the first time it comes through the Go module proxy, so the network is needed: %v\n%s",
			goplsVersion, err, out)
	}
	return filepath.Join(dir, "gopls")
}

// gopls is a language server in a directory, asked over its standard input and
// output.
type gopls struct {
	root string
	in   io.WriteCloser

	mu      sync.Mutex
	last    int
	waiting map[int]chan answer
	texts   map[string][]string // the lines of files
	known   map[string]any      // answers by question
}

type answer struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// spot is a place as the tools write it: path:line:col, the column in bytes.
type spot string

// inside says that a place is in the workspace.
func (s spot) inside() bool { return !strings.HasPrefix(string(s), "/") }

func startGopls(t testing.TB, root string) *gopls {
	t.Helper()
	cmd := exec.Command(installGopls(t), "serve")
	cmd.Dir = root
	var log strings.Builder
	cmd.Stderr = &log
	in := require.Must(cmd.StdinPipe())(t)
	out := require.Must(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	g := &gopls{
		root: root, in: in, waiting: map[int]chan answer{}, texts: map[string][]string{}, known: map[string]any{},
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		g.listen(bufio.NewReader(out))
	}()
	t.Cleanup(func() {
		if _, err := g.ask("shutdown", nil); err != nil {
			_ = cmd.Process.Kill()
		}
		_ = g.send(map[string]any{"method": "exit"})
		_ = in.Close()
		<-read
		if err := cmd.Wait(); err != nil {
			t.Errorf("gopls ended with %v\n%s", err, log.String())
		}
	})
	require.Must(g.ask("initialize", map[string]any{
		"processId":        os.Getpid(),
		"rootUri":          g.uri(""),
		"workspaceFolders": []any{map[string]any{"uri": g.uri(""), "name": "module"}},
		"capabilities": map[string]any{
			"textDocument": map[string]any{"hover": map[string]any{"contentFormat": []string{"markdown"}}},
			"workspace":    map[string]any{"configuration": true},
		},
		"initializationOptions": map[string]any{"hoverKind": "NoDocumentation", "linksInHover": false},
	}))(t)
	require.NoError(t, g.send(map[string]any{"method": "initialized", "params": map[string]any{}}))
	return g
}

func (g *gopls) send(message map[string]any) error {
	message["jsonrpc"] = "2.0"
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	_, err = fmt.Fprintf(g.in, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return err
}

// listen reads messages until there are no more; whoever waits then hears of it.
func (g *gopls) listen(r *bufio.Reader) {
	for {
		header, err := textproto.NewReader(r).ReadMIMEHeader()
		if err != nil {
			break
		}
		n, err := strconv.Atoi(header.Get("Content-Length"))
		if err != nil {
			break
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(r, body); err != nil {
			break
		}
		g.hear(body)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, waiter := range g.waiting {
		close(waiter)
		delete(g.waiting, id)
	}
	g.waiting = nil
}

func (g *gopls) hear(body []byte) {
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Items []any `json:"items"`
		} `json:"params"`
	}
	if json.Unmarshal(body, &message) != nil && message.Method == "" {
		return
	}
	switch {
	case message.Method == "workspace/configuration":
		_ = g.send(map[string]any{"id": message.ID, "result": make([]any, len(message.Params.Items))})
	case message.Method != "" && message.ID != nil:
		_ = g.send(map[string]any{"id": message.ID, "result": nil})
	case message.Method == "":
		var a answer
		id, err := strconv.Atoi(string(message.ID))
		if err != nil || json.Unmarshal(body, &a) != nil {
			return
		}
		g.mu.Lock()
		waiter := g.waiting[id]
		delete(g.waiting, id)
		g.mu.Unlock()
		if waiter != nil {
			waiter <- a
		}
	}
}

func (g *gopls) ask(method string, params any) (json.RawMessage, error) {
	g.mu.Lock()
	if g.waiting == nil {
		g.mu.Unlock()
		return nil, errors.New("gopls has ended")
	}
	g.last++
	id, waiter := g.last, make(chan answer, 1)
	g.waiting[id] = waiter
	g.mu.Unlock()
	message := map[string]any{"id": id, "method": method}
	if params != nil {
		message["params"] = params
	}
	if err := g.send(message); err != nil {
		return nil, err
	}
	select {
	case a, ok := <-waiter:
		switch {
		case !ok:
			return nil, fmt.Errorf("gopls ended while it was asked for %s", method)
		case a.Error != nil:
			return nil, fmt.Errorf("%s: %s", method, a.Error.Message)
		}
		return a.Result, nil
	case <-time.After(answerPatience):
		return nil, fmt.Errorf("gopls did not answer %s within %v", method, answerPatience)
	}
}

func (g *gopls) uri(rel string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(g.root, filepath.FromSlash(rel)))}).String()
}

type lspPosition struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type lspRange struct {
	Start lspPosition `json:"start"`
	End   lspPosition `json:"end"`
}

type lspLocation struct {
	URI   string   `json:"uri"`
	Range lspRange `json:"range"`
}

// text is a line of a file, counted from 0.
func (g *gopls) text(path string, line int) string {
	lines, ok := g.texts[path]
	if !ok {
		content, _ := os.ReadFile(path)
		lines = strings.Split(string(content), "\n")
		g.texts[path] = lines
	}
	if line >= len(lines) {
		return ""
	}
	return lines[line]
}

// spot gives a place of gopls', which counts in UTF-16. What lies outside of the
// root keeps its whole path.
func (g *gopls) spot(uri string, at lspPosition) spot {
	parsed, err := url.Parse(uri)
	if err != nil {
		return spot(uri)
	}
	units := utf16.Encode([]rune(g.text(parsed.Path, at.Line)))
	column := len(string(utf16.Decode(units[:min(at.Character, len(units))]))) + 1
	path := parsed.Path
	if rel, err := filepath.Rel(g.root, path); err == nil && filepath.IsLocal(rel) {
		path = filepath.ToSlash(rel)
	}
	return spot(fmt.Sprintf("%s:%d:%d", path, at.Line+1, column))
}

// at is a place in gopls' terms.
func (g *gopls) at(s spot) map[string]any {
	parts := strings.Split(string(s), ":")
	line, _ := strconv.Atoi(parts[1])
	column, _ := strconv.Atoi(parts[2])
	path := parts[0]
	uri := g.uri(path)
	full := filepath.Join(g.root, filepath.FromSlash(path))
	if filepath.IsAbs(path) {
		full, uri = path, (&url.URL{Scheme: "file", Path: path}).String()
	}
	before := g.text(full, line-1)
	before = before[:min(column-1, len(before))]
	return map[string]any{
		"textDocument": map[string]any{"uri": uri},
		"position":     lspPosition{line - 1, len(utf16.Encode([]rune(before)))},
	}
}

// remembered asks once: the module does not change.
func remembered[T any](g *gopls, method string, s spot, fetch func() (T, error)) (T, error) {
	question := method + " " + string(s)
	if known, ok := g.known[question].(T); ok {
		return known, nil
	}
	out, err := fetch()
	if err == nil {
		g.known[question] = out
	}
	return out, err
}

// places asks for locations.
func (g *gopls) places(method string, s spot, more map[string]any) ([]spot, error) {
	return remembered(g, method, s, func() ([]spot, error) {
		params := g.at(s)
		for k, v := range more {
			params[k] = v
		}
		raw, err := g.ask("textDocument/"+method, params)
		if err != nil {
			return nil, err
		}
		var found []lspLocation
		if err := json.Unmarshal(raw, &found); err != nil {
			return nil, err
		}
		var out []spot
		for _, l := range found {
			out = append(out, g.spot(l.URI, l.Range.Start))
		}
		return out, nil
	})
}

// references are all uses of what stands at a place, without its declaration.
func (g *gopls) references(s spot) ([]spot, error) {
	return g.places("references", s, map[string]any{"context": map[string]any{"includeDeclaration": false}})
}

func (g *gopls) definition(s spot) ([]spot, error) { return g.places("definition", s, nil) }

func (g *gopls) implementation(s spot) ([]spot, error) { return g.places("implementation", s, nil) }

func (g *gopls) typeDefinition(s spot) ([]spot, error) { return g.places("typeDefinition", s, nil) }

// hover is the declaration that gopls shows, as Go code.
func (g *gopls) hover(s spot) (string, error) {
	return remembered(g, "hover", s, func() (string, error) {
		raw, err := g.ask("textDocument/hover", g.at(s))
		if err != nil {
			return "", err
		}
		var found struct {
			Contents struct {
				Value string `json:"value"`
			} `json:"contents"`
		}
		err = json.Unmarshal(raw, &found)
		_, code, _ := strings.Cut(found.Contents.Value, "```go\n")
		code, _, _ = strings.Cut(code, "\n```")
		return code, err
	})
}

// incoming are the places that gopls' call hierarchy has for a function, with
// the name of what each is in.
func (g *gopls) incoming(s spot) (map[spot]string, error) {
	return remembered(g, "incoming", s, func() (map[spot]string, error) {
		raw, err := g.ask("textDocument/prepareCallHierarchy", g.at(s))
		if err != nil {
			return nil, err
		}
		var items []json.RawMessage
		if err := json.Unmarshal(raw, &items); err != nil || len(items) != 1 {
			return nil, fmt.Errorf("gopls has no call hierarchy at %s: %w", s, err)
		}
		raw, err = g.ask("callHierarchy/incomingCalls", map[string]any{"item": items[0]})
		if err != nil {
			return nil, err
		}
		var calls []struct {
			From struct {
				Name string `json:"name"`
				URI  string `json:"uri"`
			} `json:"from"`
			FromRanges []lspRange `json:"fromRanges"`
		}
		if err := json.Unmarshal(raw, &calls); err != nil {
			return nil, err
		}
		out := map[spot]string{}
		for _, c := range calls {
			for _, r := range c.FromRanges {
				out[g.spot(c.From.URI, r.Start)] = c.From.Name
			}
		}
		return out, nil
	})
}
