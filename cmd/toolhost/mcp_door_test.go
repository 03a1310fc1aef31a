package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A server on standard input is a door to the daemon: its clients share plugins and servers, are the caller mcp
// and have what the configuration gives that, and leave when the daemon ends.
func TestMCPDoor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player", "fs")
	settings, at := w.lateServers("late")
	w.configure("callers: {mcp: {grants: ['fs:read']}}", settings)
	w.write("a.txt", "text")
	s := w.serve("--config", w.config(), "--yes", "--grant", "fs:write")
	asked := make(chan string, 10)
	person := func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked <- r.Params.Message
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
	}
	var clients []*follower
	for range 3 {
		c := w.follower(&mcp.ClientOptions{ElicitationHandler: person})
		assert.Equalf(t, c.answers("late_t"), "at last", "it answers")
		<-asked // what the daemon's --yes is for is for commands
		assert.Containsf(t, c.says.String(), "serving this client by the daemon", "it says\n%s", c.says)
		clients = append(clients, c)
	}
	starts := string(require.Must(os.ReadFile(filepath.Join(at["late"], "starts")))(t))
	if n := strings.Count(starts, "\n"); n != 1 {
		t.Errorf("the server was started %d times", n)
	}
	names := toolsOf(t, clients[0].ClientSession)
	for name, want := range map[string]bool{"fs_read": true, "fs_write": false} {
		assert.Equalf(t, strings.Contains(strings.Join(names, " ")+" ", name+" "), want, "%s is listed", name)
	}
	w.run("audit", "--via", "mcp", "--json").exits(0).prints(`"caller":"mcp","via":"mcp","client":"codex 1.2"`)

	// What its client says is answered although it has closed its end.
	w.served(conversation("fs_read", `{"path":"a.txt"}`), "--config", w.config()).exits(0).
		says("serving this client by the daemon").prints(`"text":"text"`)
	// Flags that ask for something else.
	for _, flags := range [][]string{{"--yes"}, {"--grant", "fs:write"}, {"--caller", "other"}, {"--audit", "off"}} {
		w.served(conversation("play_echo", `{"text":"own"}`), append(flags, "--config", w.config())...).exits(0).
			says("with a host of its own", flags[0]).prints("own")
	}
	w.served(conversation("play_echo", `{"text":"own"}`), "--grant", "fs:read", "--config", w.config()).exits(0).says("by the daemon")
	w.served(conversation("play_echo", `{"text":"own"}`), "--no-daemon", "--config", w.config()).exits(0).prints("own")

	s.ends(syscall.SIGTERM, 0)
	for _, c := range clients {
		_ = c.Wait() // until its server has ended
		if _, err := c.ListTools(t.Context(), nil); err == nil {
			t.Error("the door is open, and the daemon has ended")
		}
	}
	w.served(conversation("play_echo", `{"text":"own"}`), "--config", w.config()).exits(0).says("with a host of its own").prints("own")
}
