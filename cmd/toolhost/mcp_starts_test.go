package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// lateServer is an MCP server with one tool, which notes its starts. It waits for an event if there is a FIFO,
// fails late as long as there is a file broken, and leaves unanswered what it does not know if there is a file
// mute.
const lateServer = `#!/bin/sh
echo $$ >>starts
[ -p fifo ] && cat fifo >/dev/null
[ -e broken ] && sleep 1.1 && exit 1
while read -r line; do
  id=${line#*'"id":'}; id=${id%%[,\}]*}
  answer() { echo '{"jsonrpc":"2.0","id":'$id',"result":'"$1"'}'; }
  case $line in
  *'"method":"initialize"'*) answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"late","version":"1"}}' ;;
  *'"method":"tools/list"'*) answer '{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}' ;;
  *'"method":"tools/call"'*) answer '{"content":[{"type":"text","text":"at last"}]}' ;;
  *'"id":'*) [ -e mute ] || echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"what?"}}' ;;
  esac
done
`

// lateServers makes servers of these names, and returns their settings and directories.
func (w *world) lateServers(names ...string) (settings string, at map[string]string) {
	w.t.Helper()
	w.write("late.sh", lateServer)
	settings, at = "mcp_servers:", map[string]string{}
	for _, name := range names {
		at[name] = filepath.Join(w.state, name)
		require.NoError(w.t, os.Mkdir(at[name], 0o700))
		settings += "\n  " + name + ": {command: /bin/sh, args: [" + filepath.Join(w.root, "late.sh") + "], cwd: " + at[name] + "}"
	}
	return settings, at
}

// follower is an MCP client that asks for the tools again when it is told to.
type follower struct {
	*mcp.ClientSession
	t    *testing.T
	told chan struct{}
	says *said
}

// said is what a process says on standard error.
type said struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (w *world) follower(o *mcp.ClientOptions, args ...string) *follower {
	w.t.Helper()
	f := &follower{t: w.t, told: make(chan struct{}, 100), says: &said{}}
	o.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) { f.told <- struct{}{} }
	cmd := w.command(append([]string{"serve", "--mcp", "stdio", "--plugin-dir", w.plugins, "--config", w.config()}, args...)...)
	cmd.Stderr = f.says
	f.ClientSession = w.clientOf(cmd, "2025-11-25", o)
	return f
}

// sees waits for a tool.
func (f *follower) sees(name string) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), require.Ceiling)
	defer cancel()
	for !slices.Contains(toolsOf(f.t, f.ClientSession), name) {
		select {
		case <-f.told:
		case <-ctx.Done():
			f.t.Fatalf("the client does not learn of %s:\n%s", name, f.says)
		}
	}
}

// answers calls a tool that takes no arguments.
func (f *follower) answers(name string) string {
	f.t.Helper()
	res := require.Must(f.CallTool(f.t.Context(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{}}))(f.t)
	text, _ := res.Content[0].(*mcp.TextContent)
	return text.Text
}

// Whatever else starts, a client is answered at once: with the tools that are there, and with the others when
// they are. A call of one that is not waits for it.
func TestMCPStartsKeepNoOneOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	settings, at := w.lateServers("late", "hangs", "mute")
	w.configure("callers: {mcp: {approval: 'yes'}}", settings)
	for _, name := range []string{"late", "hangs"} {
		require.NoError(t, syscall.Mkfifo(filepath.Join(at[name], "fifo"), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(at["mute"], "mute"), nil, 0o600))
	c := w.follower(&mcp.ClientOptions{})
	if about := c.InitializeResult().Instructions; about == "" || len(about) > 600 {
		t.Errorf("the instructions have %d characters: %s", len(about), about)
	}
	first := make(chan string, 1)
	go func() { first <- c.answers("late_t") }()
	c.sees("play_echo")
	c.sees("mute_t")
	assert.Equalf(t, c.answers("mute_t"), "at last", "mute")
	select {
	case text := <-first:
		t.Errorf("the call did not wait: %q", text)
	default:
	}
	require.NoError(t, os.WriteFile(filepath.Join(at["late"], "fifo"), nil, 0o600))
	c.sees("late_t")
	assert.Equalf(t, <-first, "at last", "late")
}

// A search waits, as its answer is believed; a call by what it found does for its tool only.
func TestMCPSearchWaitsForStarts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	settings, at := w.lateServers("late")
	w.configure("callers: {mcp: {approval: 'yes', discovery: search}}", settings)
	fifo := filepath.Join(at["late"], "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	c := w.follower(&mcp.ClientOptions{})
	s := searching{t, c.ClientSession}
	s.call("tools_call", map[string]any{"name": "play.echo", "arguments": map[string]any{"text": "hi"}}).has(t, false, "hi")
	found := make(chan []string, 1)
	go func() { found <- s.finds("late t") }()
	s.call("tools_call", map[string]any{"name": "play.echo", "arguments": map[string]any{"text": "hi"}}).has(t, false, "hi")
	require.NoError(t, os.WriteFile(fifo, nil, 0o600))
	if got := <-found; !slices.Contains(got, "late.t") {
		t.Errorf("the search finds %q", got)
	}
}

// Over HTTP, too.
func TestMCPStartsKeepNoOneOutOverHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	settings, at := w.lateServers("late")
	w.configure("callers: {ci: {approval: 'yes'}}", settings)
	fifo := filepath.Join(at["late"], "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	ln := require.Must(net.Listen("tcp", "127.0.0.1:0"))(t) //nolint:noctx // it is closed at once
	address := ln.Addr().String()
	_ = ln.Close()
	f := &front{w.begin("--mcp", "http", "--listen", address, "--config", w.config()), "http://" + address}
	w.until("it listens", func() bool {
		conn, err := net.Dial("tcp", address) //nolint:noctx // of this machine
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	w.until("it is ready for clients", func() bool {
		answer, _ := f.ask("GET", "/readyz", "", nil)
		return answer.StatusCode == http.StatusOK
	})
	told := make(chan struct{}, 100)
	c := &follower{t: t, told: told, says: &said{}, ClientSession: f.connect(w.token("ci"), &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told <- struct{}{} },
	})}
	c.sees("play_echo")
	require.NoError(t, os.WriteFile(fifo, nil, 0o600))
	c.sees("late_t")
	f.await("toolhost: ready: ")
}

// A client that connects is reason enough to try again what took long to fail. What is said of it names no
// command that does not reach its server.
func TestMCPClientTriesAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	settings, at := w.lateServers("late")
	w.configure(settings, "callers: {mcp: {approval: 'yes'}}")
	broken := filepath.Join(at["late"], "broken")
	require.NoError(t, os.WriteFile(broken, nil, 0o600))
	o := w.served(conversation("late_t", "{}"), "--config", w.config()).
		says("plugin late did not start", "a client that connects again has it tried again")
	assert.NotContainsf(t, o.stdout+o.stderr, "plugins restart", "it says %s", o.stderr)
	require.NoError(t, os.Remove(broken))
	w.follower(&mcp.ClientOptions{}).sees("late_t")
}
