package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// spoken starts toolhost serve --mcp stdio, and returns its standard input and output.
func (w *world) spoken(args ...string) (cmd *exec.Cmd, in io.WriteCloser, lines *bufio.Scanner, leave func()) {
	w.t.Helper()
	cmd = w.command(append([]string{"serve", "--mcp", "stdio", "--plugin-dir", w.plugins}, args...)...)
	in = require.Must(cmd.StdinPipe())(w.t)
	out := require.Must(cmd.StdoutPipe())(w.t)
	cmd.Stderr = os.Stderr
	require.NoError(w.t, cmd.Start())
	w.t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines = bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	return cmd, in, lines, func() { _, _ = in.Close(), out.Close() }
}

// conversation is what a client says to call a tool, a line each.
func conversation(tool, arguments string) string {
	return hello + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments) + "\n"
}

// served is what the process that serves MCP on these words answers.
func (w *world) served(stdin string, args ...string) outcome {
	w.t.Helper()
	cmd := w.command(append([]string{"serve", "--mcp", "stdio", "--plugin-dir", w.plugins}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	return w.finish(cmd)
}

// A client that closes its end gets the answers to what it has asked, and nothing but MCP.
func TestMCPOnStandardInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "player")
	w.write("a.txt", "text")
	w.configure("callers: {other: {grants: ['fs:read']}}")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--grant", "fs:read"}, `"text":"text"`},
		{nil, "Permission denied for tool: fs_read"},
		{[]string{"--caller", "other", "--log-level", "debug", "--json"}, `"text":"text"`},
	} {
		o := w.served(conversation("fs_read", `{"path":"a.txt"}`), append(c.args, "--config", w.config())...)
		o.exits(0).prints(c.says)
		answers := map[float64]bool{}
		for line := range strings.Lines(o.stdout) {
			var m map[string]any
			if err := json.Unmarshal([]byte(line), &m); err != nil || m["jsonrpc"] != "2.0" {
				t.Errorf("standard output has %q", line)
			}
			id, _ := m["id"].(float64)
			answers[id] = true
		}
		if !answers[1] || !answers[2] {
			t.Errorf("%q: it answers %s", c.args, o.stdout)
		}
	}
	lines := w.run("audit", "--via", "mcp", "--json").exits(0).stdout
	for _, want := range []string{`"caller":"mcp","via":"mcp","client":"tester 7"`, `"caller":"other","via":"mcp"`} {
		assert.Containsf(t, lines, want, "on record")
	}
	w.served("", "--caller", "cli").exits(2)
	if o := w.served("", "--json", "--caller", "cli").exits(2); o.stdout != "" {
		t.Errorf("standard output has %q", o.stdout)
	}
	o := w.served("not JSON\n" + conversation("play_echo", `{"text":"goes on"}`)).exits(0).prints("goes on")
	if first, _, _ := strings.Cut(o.stdout, "\n"); !strings.Contains(first, `"id":null,"error":{"code":-32700`) {
		t.Errorf("a line that is not JSON is answered by %s", first)
	}
	w.served(strings.Repeat("not JSON\n", 1000)).exits(1).says("standard input", "in a row are not messages")
	if o := w.served(conversation("play_danger", `{}`)); !strings.Contains(o.stdout, "isError") {
		t.Errorf("a dangerous tool runs without a yes: %s", o.stdout)
	}
	w.served(conversation("play_danger", `{"text":"said yes"}`), "--yes").exits(0).prints("said yes")
}

// A call ends with the client that left, and in its time when the process is told to end.
func TestMCPClientOnStandardInputLeaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	begun := func(name string) (fifo string, wait func()) {
		fifo = filepath.Join(w.root, name)
		require.NoError(t, syscall.Mkfifo(fifo, 0o600))
		return fifo, func() {
			t.Helper()
			require.Must(os.ReadFile(fifo))(t)
		}
	}
	ended := func(cmd *exec.Cmd) {
		t.Helper()
		if err := cmd.Wait(); err != nil {
			t.Errorf("it ends with %v", err)
		}
	}

	// The process of the client is gone.
	fifo, _ := begun("left")
	cmd, in, _, leave := w.spoken()
	require.Must(io.WriteString(in, conversation("play_wait", fmt.Sprintf(`{"fifo":%q}`, fifo))))(t)
	held := require.Must(os.Open(fifo))(t)
	leave()
	if _, err := io.Copy(io.Discard, held); err != nil {
		t.Error(err)
	}
	_ = held.Close()
	ended(cmd)

	// The client has closed its end, and waits for the process to end.
	fifo, _ = begun("waits")
	cmd, in, lines, _ := w.spoken("--drain", "1h")
	require.Must(io.WriteString(in, conversation("play_wait", fmt.Sprintf(`{"fifo":%q}`, fifo))))(t)
	held = require.Must(os.Open(fifo))(t)
	_ = in.Close()
	if _, err := io.Copy(io.Discard, held); err != nil {
		t.Error(err)
	}
	_ = held.Close()
	for lines.Scan() { // until it has ended
	}
	ended(cmd)

	// The client has closed its end, waits for a while, and then says that it is enough.
	fifo, _ = begun("enough")
	cmd, in, lines, _ = w.spoken()
	require.Must(io.WriteString(in, conversation("play_wait", fmt.Sprintf(`{"fifo":%q}`, fifo))))(t)
	held = require.Must(os.Open(fifo))(t)
	_ = in.Close()
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	for lines.Scan() { // until it has ended
	}
	_, _ = io.Copy(io.Discard, held)
	_ = held.Close()
	ended(cmd)

	// The process is told to end, and the client is there.
	fifo, wait := begun("begun")
	until, _ := begun("until")
	cmd, in, lines, _ = w.spoken()
	require.Must(io.WriteString(in, conversation("play_hold", fmt.Sprintf(`{"fifo":%q,"until":%q}`, fifo, until))))(t)
	wait()
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	var said []string
	for late := 3; !slices.ContainsFunc(said, func(line string) bool { return strings.Contains(line, "takes no more requests") }); late++ {
		_, _ = fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", late) // until the signal has come
		if !lines.Scan() {
			t.Fatalf("it ended: %q", said)
		}
		said = append(said, lines.Text())
	}
	require.NoError(t, os.WriteFile(until, []byte("answered"), 0o600))
	for lines.Scan() {
		said = append(said, lines.Text())
	}
	assert.Containsf(t, strings.Join(said, "\n"), `"text":"answered"`, "the call in progress has no answer: %q", said)
	ended(cmd)
}

// A server on standard input follows the plugin directories and the configuration, with no daemon.
func TestMCPOnStandardInputFollows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.configure("callers: {mcp: {}}")
	told := make(chan struct{}, 100)
	cmd := w.command("serve", "--mcp", "stdio", "--plugin-dir", w.plugins, "--config", w.config())
	c := require.Must(mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "7"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told <- struct{}{} },
	}).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"}))(t)
	sees := func(name string) {
		t.Helper()
		for !slices.Contains(toolsOf(t, c), name) {
			select {
			case <-told:
			case <-time.After(time.Minute):
				t.Fatalf("the client does not learn of %s", name)
			}
		}
	}
	sees("play_echo")
	w.install("fs", "fs")
	w.configure("callers: {mcp: {grants: ['fs:read']}}")
	require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
	sees("fs_read")
	if _, err := os.Lstat(w.socket()); err == nil {
		t.Error("it has a socket")
	}
	if err := c.Close(); err != nil {
		t.Errorf("the end: %v", err)
	}
}
