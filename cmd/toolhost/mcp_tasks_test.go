package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// taskAnswer is what the daemon says to a request that concerns tasks.
type taskAnswer struct {
	Result struct {
		ResultType, TaskID, Status string
		TTLMs                      int64
		InputRequests              map[string]any
		Result                     struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	Error struct{ Code int }
	text  string
}

// tasked sends a request of a client that has tasks, or has not.
func (f *front) tasked(token, can, method, name, params string) (a taskAnswer) {
	f.w.t.Helper()
	_, a.text = f.ask("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{`+can+`}},`+params+`}}`, header{
		"Authorization": "Bearer " + token, "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name,
	})
	body := a.text
	if _, event, ok := strings.Cut(a.text, "data: "); ok {
		body = event
	}
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		f.w.t.Fatalf("%s: %v in %s", method, err, a.text)
	}
	return a
}

// The configuration says which calls become tasks, which only their caller can ask for.
func TestMCPTasks(t *testing.T) {
	t.Parallel()
	const can = `"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}`
	w := newWorld(t, "player")
	w.configure("mcp: {tasks: {at_once: ['play.*'], never: [play.stdin], required: [play.fail], ttl: 2h}}")
	f := w.serveMCP("--config", w.config())
	ann, ben := w.token("ann"), w.token("ben")
	call := func(can, name string) taskAnswer {
		t.Helper()
		return f.tasked(ann, can, "tools/call", name, `"name":"`+name+`","arguments":{}`)
	}
	about := func(token, method, id string) taskAnswer {
		t.Helper()
		return f.tasked(token, can, "tasks/"+method, id, `"taskId":"`+id+`","inputResponses":{"q1":{"action":"decline"}}`)
	}
	ask := call(can, "play_ask")
	id := ask.Result.TaskID
	if ask.Result.ResultType != "task" || ask.Result.TTLMs != 2*3600*1000 {
		t.Fatalf("not a task: %s", ask.text)
	}
	w.until("the task asks", func() bool { return about(ann, "get", id).Result.Status == "input_required" })
	for _, method := range []string{"get", "update", "cancel"} {
		if a := about(ben, method, id); a.Error.Code != -32602 {
			t.Errorf("%s of another: %s", method, a.text)
		}
	}
	about(ann, "update", id)
	w.until("the task has ended", func() bool { return about(ann, "get", id).Result.Status == "completed" })
	if a := call(can, "play_stdin"); a.Result.ResultType != "complete" {
		t.Errorf("one that never is a task: %s", a.text)
	}
	if a := call("", "play_fail"); a.Error.Code != -32021 {
		t.Errorf("one that has to be a task: %s", a.text)
	}
	if a := call(can, "play_fail"); a.Result.ResultType != "task" {
		t.Errorf("one that has to be a task: %s", a.text)
	}
	w.configure("mcp: {tasks: {after: never, ttl: 2h}}")
	require.NoError(t, f.cmd.Process.Signal(syscall.SIGHUP))
	w.until("the rule has changed", func() bool { return call(can, "play_fail").Result.ResultType == "complete" })
	if a := about(ann, "get", id); a.Result.Status != "completed" {
		t.Errorf("after a reload: %s", a.text)
	}
	w.configure("mcp: {tasks: {after: 1ms, ttl: 3h}}")
	require.NoError(t, f.cmd.Process.Signal(syscall.SIGHUP))
	f.await("mcp.tasks.ttl: a running daemon cannot change it")
	f.ends(syscall.SIGTERM, 0)
}
