package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver"
	"github.com/toolhost/toolhost/host/task"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const extension = `"extensions":{"io.modelcontextprotocol/tasks":{}}`

// tasker is a client on HTTP that has tasks, or says so.
type tasker struct {
	t    *testing.T
	by   *http.Client
	name string
	can  string // capabilities
}

// answer is what a server says to a request that concerns tasks.
type answer struct {
	Result struct {
		ResultType, TaskID, Status, StatusMessage, CreatedAt, LastUpdatedAt string
		TTLMs, PollIntervalMs                                               int64
		InputRequests                                                       map[string]struct {
			Method string
			Params struct{ Message string }
		}
		Content []struct{ Text string }
		Result  struct {
			Content []struct{ Text string }
			IsError bool
		}
		Error        struct{ Code int }
		RequestState string
	}
	Error struct {
		Code int
		Data json.RawMessage
	}
	body string
}

func (c tasker) ask(method, name, params string) (a answer) {
	c.t.Helper()
	can := strings.NewReplacer(`"io.modelcontextprotocol/clientCapabilities":{}`, `"io.modelcontextprotocol/clientCapabilities":{`+c.can+`}`)
	_, a.body = rawBy(c.t, c.by, "http://memory", method, name, params, map[string]string{"Authorization": "Bearer " + c.name}, can)
	text := a.body
	if _, event, ok := strings.Cut(a.body, "data: "); ok {
		text = event
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		c.t.Fatalf("%s: %v in %s", method, err, a.body)
	}
	return a
}

func (c tasker) call(name string) answer {
	c.t.Helper()
	return c.ask("tools/call", name, `,"name":"`+name+`","arguments":{}`)
}

func (c tasker) about(method, id string, more ...string) answer {
	c.t.Helper()
	return c.ask("tasks/"+method, id, `,"taskId":"`+id+`"`+strings.Join(more, ""))
}

// task calls a tool, and returns the ID of the task that the call has become.
func (c tasker) task(name string) string {
	c.t.Helper()
	a := c.call(name)
	if a.Result.ResultType != "task" || a.Result.TaskID == "" || a.Result.Status != "working" || a.Result.RequestState != "" {
		c.t.Fatalf("not a task: %s", a.body)
	}
	return a.Result.TaskID
}

// until returns the task once it has a status.
func (c tasker) until(id, status string) (a answer) {
	c.t.Helper()
	require.Eventually(c.t, "the task is "+status, func() bool {
		a = c.about("get", id)
		if a.Error.Code != 0 {
			c.t.Fatalf("tasks/get: %s", a.body)
		}
		return a.Result.Status == status
	})
	if a.Result.ResultType != "complete" || a.Result.TaskID != id {
		c.t.Errorf("tasks/get: %s", a.body)
	}
	return a
}

// tasks serves a host, of whose tools each call becomes a task by the rule.
func tasks(t *testing.T, h *host.Host, m task.MemoryOptions, rule mcpserver.TaskRule, opts ...host.SessionOption) (c tasker) {
	t.Helper()
	store := task.NewMemory(m)
	t.Cleanup(func() {
		assert.NoError(t, store.Close(context.Background()))
	})
	s := serve(t, h, mcpserver.Options{
		MaxRate: 1_000_000, Tasks: store, TaskRule: func(string) mcpserver.TaskRule { return rule },
		Session: func(_ context.Context, c mcpserver.Client) (*host.Session, error) {
			return h.Session(append(opts, host.WithCaller(host.Caller{Name: c.Identity}))...), nil
		},
	})
	return tasker{t, frontInMemory(t, authenticated(s.Handler())), "ann", `"elicitation":{},` + extension}
}

// waits is a tool that waits for its channel, or for the end of the call, which it counts.
func waits(name string, until <-chan struct{}, ended *atomic.Int32) tool.Tool {
	t := echo(name)
	t.Handler = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		tool.Report(ctx, tool.Progress{Done: 1, Message: "half\x1b[2J way"})
		select {
		case <-until:
			return tool.Text("waited"), nil
		case <-ctx.Done():
			ended.Add(1)
			return tool.Result{}, context.Cause(ctx)
		}
	}
	return t
}

func register(t *testing.T, h *host.Host, all ...tool.Tool) {
	t.Helper()
	for _, one := range all {
		require.NoError(t, h.Register(one))
	}
}

func TestTasks(t *testing.T) {
	t.Parallel()
	h, open := newHost(t), make(chan struct{})
	var ended atomic.Int32
	fails := echo("t.fail")
	fails.Handler = func(context.Context, tool.Call) (tool.Result, error) { return tool.Failure("no"), nil }
	panics := echo("t.panic")
	panics.Handler = func(context.Context, tool.Call) (tool.Result, error) { panic("oh") }
	register(t, h, waits("t.wait", open, &ended), fails, panics)
	c := tasks(t, h, task.MemoryOptions{}, mcpserver.TaskRule{})

	id := c.task("t_wait")
	var a answer
	require.Eventually(t, "the task has a progress", func() bool { a = c.about("get", id); return a.Result.StatusMessage != "" })
	if a.Result.Status != "working" || strings.Contains(a.Result.StatusMessage, "\x1b") || !strings.HasPrefix(a.Result.StatusMessage, "half") {
		t.Errorf("in progress: %s", a.body)
	}
	if a.Result.TTLMs != 3_600_000 || a.Result.PollIntervalMs != 1000 || a.Result.CreatedAt == "" || strings.Contains(a.body, `"result":{}`) {
		t.Errorf("in progress: %s", a.body)
	}
	if _, err := time.Parse(time.RFC3339, a.Result.LastUpdatedAt); err != nil {
		t.Error(err)
	}
	close(open)
	if a = c.until(id, "completed"); len(a.Result.Result.Content) != 1 || a.Result.Result.Content[0].Text != "waited" {
		t.Errorf("the result: %s", a.body)
	}
	for _, method := range []string{"cancel", "cancel", "update"} { // it stays as it is
		if a = c.about(method, id, `,"inputResponses":{"q1":{"action":"accept"}}`); a.Error.Code != 0 || a.Result.ResultType != "complete" || a.Result.TaskID != "" {
			t.Errorf("%s after the end: %s", method, a.body)
		}
	}
	c.until(id, "completed")
	for _, name := range []string{"t_fail", "t_panic"} {
		if a = c.until(c.task(name), "completed"); !a.Result.Result.IsError {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	if a = c.call("t_none"); a.Error.Code != -32602 {
		t.Errorf("an unknown tool: %s", a.body)
	}
	for _, method := range []string{"tasks/list", "tasks/result"} {
		if a = c.ask(method, id, `,"taskId":"`+id+`"`); a.Error.Code != -32601 {
			t.Errorf("%s: %s", method, a.body)
		}
	}
	if a = c.ask("tasks/get", "other", `,"taskId":"`+id+`"`); a.Error.Code != -32020 {
		t.Errorf("a header that does not fit: %s", a.body)
	}
}

func TestTaskIsCancelled(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	var ended atomic.Int32
	register(t, h, waits("t.wait", nil, &ended))
	c := tasks(t, h, task.MemoryOptions{}, mcpserver.TaskRule{})
	id := c.task("t_wait")
	require.Eventually(t, "the task has a progress", func() bool { return c.about("get", id).Result.StatusMessage != "" })
	for range 2 {
		if a := c.about("cancel", id); a.Result.ResultType != "complete" || a.Result.Status != "" {
			t.Errorf("tasks/cancel: %s", a.body)
		}
	}
	require.Eventually(t, "the call has ended", func() bool { return ended.Load() == 1 })
	if a := c.until(id, "cancelled"); strings.Contains(a.body, `"result":{"content"`) {
		t.Errorf("after the end: %s", a.body)
	}
}

// A client that has not declared the extension sees none of it.
func TestTasksOfOtherClients(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	register(t, h, echo("t.echo"))
	c := tasks(t, h, task.MemoryOptions{}, mcpserver.TaskRule{})
	id, plain := c.task("t_echo"), c
	plain.can = `"elicitation":{}`
	if a := plain.call("t_echo"); a.Result.ResultType != "complete" || len(a.Result.Content) != 1 {
		t.Errorf("a call: %s", a.body)
	}
	for _, method := range []string{"get", "update", "cancel"} {
		a := plain.about(method, id)
		if a.Error.Code != -32021 || !strings.Contains(string(a.Error.Data), `{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`) {
			t.Errorf("%s: %s", method, a.body)
		}
	}
	if a := plain.ask("subscriptions/listen", "", `,"notifications":{"taskIds":["`+id+`"]}`); a.Error.Code != -32021 {
		t.Errorf("a subscription: %s", a.body)
	}
	required := tasks(t, h, task.MemoryOptions{}, mcpserver.TaskRule{Required: true})
	required.task("t_echo")
	required.can = ""
	if a := required.call("t_echo"); a.Error.Code != -32021 {
		t.Errorf("a call that has to be a task: %s", a.body)
	}
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			store := task.NewMemory(task.MemoryOptions{})
			t.Cleanup(func() { _ = store.Close(context.Background()) })
			s := serve(t, h, mcpserver.Options{Tasks: store, TaskRule: func(string) mcpserver.TaskRule { return mcpserver.TaskRule{} }})
			client := w.connect(t, s, nil)
			assert.Equalf(t, text(call(t, client, "t_echo", `{}`)), `t.echo:{}`, "a call")
			has := client.InitializeResult().Capabilities.Extensions["io.modelcontextprotocol/tasks"] != nil
			if has != (w.version == "2026-07-28") {
				t.Errorf("the server has tasks: %v", has)
			}
		})
	}
}

// Another caller's task cannot be seen, answered or cancelled, nor one by a guess.
func TestTaskOfAnotherCaller(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	var ended atomic.Int32
	register(t, h, waits("t.wait", nil, &ended))
	c := tasks(t, h, task.MemoryOptions{}, mcpserver.TaskRule{})
	id, other := c.task("t_wait"), c
	other.name = "ben"
	for _, method := range []string{"get", "update", "cancel"} {
		theirs := other.about(method, id)
		none := other.about(method, strings.Repeat("A", len(id)))
		if theirs.Error.Code != -32602 || theirs.body != none.body {
			t.Errorf("%s of another's task: %s, and of none: %s", method, theirs.body, none.body)
		}
	}
	for _, guess := range []string{"", strings.ToLower(id), id[:len(id)-1], id + "A", strings.Repeat("x", 10_000)} {
		if a := c.about("get", guess); a.Error.Code != -32602 {
			t.Errorf("the guess %.30q: %s", guess, a.body)
		}
	}
	for _, bad := range []string{`,"taskId":1`, `,"taskId":["` + id + `"]`, `,"taskId":"` + id + `","inputResponses":[]`} {
		if a := c.ask("tasks/update", id, bad); a.Error.Code == 0 {
			t.Errorf("%s: %s", bad, a.body)
		}
	}
	if ended.Load() != 0 || c.about("get", id).Result.Status != "working" {
		t.Error("the task did not go on")
	}
}

func asks(name string, n int) tool.Tool {
	t := echo(name)
	t.Handler = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		all := make(chan string, n)
		for i := range n {
			go func() {
				a, err := tool.Ask(ctx, tool.Question{
					Message: fmt.Sprint("number ", i), Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
				})
				if err != nil {
					all <- string(tool.CodeOf(err))
					return
				}
				all <- string(a.Action) + string(a.Content)
			}()
		}
		var out []string
		for range n {
			out = append(out, <-all)
		}
		return tool.Text(strings.Join(out, " ")), nil
	}
	return t
}

func TestQuestionsOfTasks(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	register(t, h, asks("t.ask", 2))
	c := tasks(t, h, task.MemoryOptions{}, mcpserver.TaskRule{})
	id := c.task("t_ask")
	var a answer
	require.Eventually(t, "both questions are asked", func() bool { a = c.about("get", id); return len(a.Result.InputRequests) == 2 })
	if a.Result.Status != "input_required" || a.Result.InputRequests["q1"].Method != "elicitation/create" || a.Result.InputRequests["q2"].Params.Message == "" {
		t.Errorf("the questions: %s", a.body)
	}
	other := c
	other.name = "ben"
	yes := func(key string) string {
		return `,"inputResponses":{"` + key + `":{"action":"accept","content":{"n":1}}}`
	}
	if a = other.about("update", id, yes("q1")); a.Error.Code != -32602 {
		t.Errorf("another's answer: %s", a.body)
	}
	for _, bad := range []string{ // of no question, or of another kind
		"", `,"inputResponses":null`, `,"inputResponses":{}`, yes("q3"), yes(""), `,"inputResponses":{"q1":{"ignored":true}}`,
		`,"inputResponses":{"q1":{"roots":[]}}`, `,"inputResponses":{"q1":null}`, `,"inputResponses":{"q1":1}`,
	} {
		if a = c.about("update", id, bad); a.Result.ResultType != "complete" {
			t.Errorf("%s: %s", bad, a.body)
		}
	}
	if a = c.about("get", id); len(a.Result.InputRequests) != 2 {
		t.Errorf("after answers to nothing: %s", a.body)
	}
	for range 2 {
		if a = c.about("update", id, yes("q1")); a.Result.ResultType != "complete" {
			t.Errorf("an answer: %s", a.body)
		}
		if a = c.about("get", id); a.Result.Status != "input_required" || len(a.Result.InputRequests) != 1 {
			t.Errorf("after one answer: %s", a.body)
		}
	}
	c.about("update", id, yes("q2"))
	if a = c.until(id, "completed"); a.Result.Result.Content[0].Text != `accept{"n":1} accept{"n":1}` {
		t.Errorf("the result: %s", a.body)
	}
	id = c.task("t_ask")
	c.until(id, "input_required")
	c.about("cancel", id)
	if a = c.until(id, "cancelled"); len(a.Result.InputRequests) > 0 {
		t.Errorf("cancelled: %s", a.body)
	}
}

// A dangerous call that is a task asks its client, and runs when that says yes.
func TestTaskIsApproved(t *testing.T) {
	t.Parallel()
	ran := make(chan string, 1)
	h := newHost(t)
	register(t, h, dangerous("t.rm", ran))
	c := tasks(t, h, task.MemoryOptions{}, mcpserver.TaskRule{}, host.WithApprover(mcpserver.ClientApprover()))
	for action, want := range map[string]string{"accept": "t.rm:{}", "decline": "Approval denied"} {
		id := c.task("t_rm")
		if a := c.until(id, "input_required"); !strings.HasPrefix(a.Result.InputRequests["q1"].Params.Message, "Allow t.rm") {
			t.Errorf("the question: %s", a.body)
		}
		c.about("update", id, `,"inputResponses":{"q1":{"action":"`+action+`"}}`)
		if a := c.until(id, "completed"); !strings.HasPrefix(a.Result.Result.Content[0].Text, want) {
			t.Errorf("%s: %s", action, a.body)
		}
	}
	if len(ran) != 1 {
		t.Errorf("it ran %d times", len(ran))
	}
}

// A call that takes long becomes a task, whose questions until then are put without it.
func TestCallBecomesTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, open := newHost(t), make(chan struct{})
		slow := echo("t.slow")
		slow.Handler = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			ask := func() string {
				a, err := tool.Ask(ctx, tool.Question{Message: "name?"})
				if err != nil {
					return err.Error()
				}
				return string(a.Action)
			}
			first := ask()
			<-open
			return tool.Text(first + ask()), nil
		}
		register(t, h, slow, echo("t.echo"))
		const after = 10 * time.Second
		c := tasks(t, h, task.MemoryOptions{}, mcpserver.TaskRule{After: after})
		if a := c.call("t_echo"); a.Result.ResultType != "complete" {
			t.Errorf("a call that ends at once: %s", a.body)
		}
		a := c.call("t_slow")
		if a.Result.ResultType != "input_required" || a.Result.TaskID != "" {
			t.Fatalf("a call that asks at once: %s", a.body)
		}
		began := time.Now()
		a = c.ask("tools/call", "t_slow", `,"name":"t_slow","arguments":{},"inputResponses":{"q1":{"action":"accept"}},"requestState":"`+a.Result.RequestState+`"`)
		if a.Result.ResultType != "task" || time.Since(began) != after {
			t.Fatalf("a call that takes long, after %v: %s", time.Since(began), a.body)
		}
		close(open)
		id := a.Result.TaskID
		c.until(id, "input_required")
		c.about("update", id, `,"inputResponses":{"q1":{"action":"decline"}}`)
		if a = c.until(id, "completed"); a.Result.Result.Content[0].Text != "acceptdecline" {
			t.Errorf("the result: %s", a.body)
		}
		never := tasks(t, h, task.MemoryOptions{}, mcpserver.TaskRule{After: -1})
		if a := never.call("t_echo"); a.Result.ResultType != "complete" {
			t.Errorf("a call that never becomes a task: %s", a.body)
		}
	})
}

// A caller that floods the server with tasks gets results in their place, and takes no room of others.
func TestFloodOfTasks(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	register(t, h, echo("t.echo"))
	c := tasks(t, h, task.MemoryOptions{MaxOwner: 3}, mcpserver.TaskRule{})
	for range 3 {
		c.until(c.task("t_echo"), "completed")
	}
	for range 10 {
		if a := c.call("t_echo"); a.Result.ResultType != "complete" || a.Result.Content[0].Text != "t.echo:{}" {
			t.Errorf("a call without room for a task: %s", a.body)
		}
	}
	other := c
	other.name = "ben"
	other.task("t_echo")
}

// The tools of a plugin's process, over a connection that is not HTTP.
func TestTasksOfAPlugin(t *testing.T) {
	t.Parallel()
	h := loaded(t, reporter)
	store := task.NewMemory(task.MemoryOptions{})
	t.Cleanup(func() { _ = store.Close(context.Background()) })
	s := serve(t, h, mcpserver.Options{Tasks: store, TaskRule: func(string) mcpserver.TaskRule { return mcpserver.TaskRule{} }})
	to, from, _ := rawClient(t, s)
	n, can := 0, ""
	ask := func(method, params string) (a answer) {
		t.Helper()
		n++
		_, err := fmt.Fprintf(to, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientCapabilities":{%s}},%s}}`+"\n", n, method, can, params)
		if err != nil || !from.Scan() {
			t.Fatal(err, from.Err())
		}
		a.body = from.Text()
		require.NoError(t, json.Unmarshal(from.Bytes(), &a))
		return a
	}
	if a := ask("subscriptions/listen", `"notifications":{"taskIds":["x"]}`); a.Error.Code != -32021 {
		t.Errorf("a subscription: %s", a.body)
	}
	can = extension
	id := ask("tools/call", `"name":"r_progress","arguments":{}`).Result.TaskID
	if id == "" {
		t.Fatal("not a task")
	}
	var a answer
	require.Eventually(t, "the task is completed", func() bool {
		a = ask("tasks/get", `"taskId":"`+id+`"`)
		return a.Result.Status == "completed"
	})
	if a.Result.StatusMessage != "at it" || a.Result.Result.Content[0].Text != "done" {
		t.Errorf("the task: %s", a.body)
	}
}
