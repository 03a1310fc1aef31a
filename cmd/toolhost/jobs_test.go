package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// work is a program that a tool runs, which writes a line into a ledger and ends when it may.
type work struct {
	t            *testing.T
	dir, program string
}

func newWork(t *testing.T) *work {
	t.Helper()
	w := &work{t: t, dir: t.TempDir()}
	w.program = filepath.Join(w.dir, "work")
	text := fmt.Sprintf("#!/bin/sh\necho run >> '%s'\n: < '%s'\necho finished\n", w.ledger(), w.leave())
	require.NoError(t, os.WriteFile(w.program, []byte(text), 0o700)) //nolint:gosec // it is a program
	require.NoError(t, syscall.Mkfifo(w.leave(), 0o600))
	t.Cleanup(w.mayEnd)
	return w
}

func (w *work) ledger() string { return filepath.Join(w.dir, "ledger") }
func (w *work) leave() string  { return filepath.Join(w.dir, "leave") }
func (w *work) call() string   { return `{"program":"` + w.program + `"}` }

// runs counts how often it began.
func (w *work) runs() int {
	text, _ := os.ReadFile(w.ledger())
	return strings.Count(string(text), "run\n")
}

// mayEnd has what waits go on, which is what opens the FIFO, and what begins later not wait.
func (w *work) mayEnd() {
	f := require.Must(os.OpenFile(w.leave(), os.O_RDWR, 0))(w.t)
	w.t.Cleanup(func() { _ = f.Close() })
}

// fleetOf starts a daemon with a NATS server that keeps what is stored, and returns it and what to tell the
// others of it.
func (w *world) fleetOf(lines ...string) (*serving, string) {
	w.t.Helper()
	w.configure(append([]string{"nats:", "  embedded: 0", "  name: hub", "  store: " + filepath.Join(w.state, "nats")}, lines...)...)
	s := w.serve()
	return s, s.server()
}

// detach makes a durable call and returns its ID.
func (w *world) detach(args ...string) string {
	w.t.Helper()
	id := strings.TrimSpace(w.run(append([]string{"call", "--detach"}, args...)...).exits(0).stdout)
	if len(id) != 26 {
		w.t.Fatalf("the ID is %q", id)
	}
	return id
}

// callOf is a durable call as this world's daemon shows it.
func (w *world) callOf(id string) (c durable.Call) {
	w.t.Helper()
	w.run("jobs", "show", id, "--json").exits(0).json(&c)
	return c
}

// jobs are the durable calls in a state.
func (w *world) jobs(state string) (all []durable.Call) {
	w.t.Helper()
	w.run("jobs", "--state", state, "--json").exits(0).json(&all)
	return all
}

// linesOf returns how many lines of an event the log has of a durable call, and the last of them.
func (w *world) linesOf(event, id string) (n int, last audit.Record) {
	w.t.Helper()
	for line := range strings.Lines(w.run("audit", id, "--json").stdout) {
		var r audit.Record
		require.NoError(w.t, json.Unmarshal([]byte(line), &r))
		if r.Event == event && r.Object == id {
			n, last = n+1, r
		}
	}
	return n, last
}

// records checks that the log has one end of a durable call, with a code.
func (w *world) records(id string, code tool.Code) {
	w.t.Helper()
	w.until("its end is on record", func() bool {
		n, _ := w.linesOf(audit.End, id)
		return n > 0
	})
	if n, r := w.linesOf(audit.End, id); n != 1 || r.Code != code || r.Tool != "play.run" || r.Caller != "cli" || r.Call == "" {
		w.t.Errorf("the log has %d ends of call %s, the last of them %+v", n, id, r)
	}
	if n, _ := w.linesOf(audit.Begin, id); n != 1 {
		w.t.Errorf("the log has %d begins of call %s", n, id)
	}
}

func (w *world) has(tool string) {
	w.t.Helper()
	w.until(tool+" is mounted", func() bool { return w.knows(tool) })
}

// knows reports whether the daemon has a tool whose name begins so.
func (w *world) knows(prefix string) bool {
	w.t.Helper()
	all := require.Must(w.client().Tools(w.t.Context(), host.Filter{}))(w.t)
	return slices.ContainsFunc(all, func(t host.Tool) bool { return strings.HasPrefix(t.Name, prefix) })
}

const (
	atMostOnce  = "rules: [{tools: '*', durable: at-most-once}]"
	atLeastOnce = "rules: [{tools: '*', durable: at-least-once}]"
)

// A durable call waits, is shown, waited for, left alone and canceled; one of a tool without the
// rule is not detached.
func TestCalls(t *testing.T) {
	t.Parallel()
	hub, b, work := newWorld(t, "player"), newWorld(t), newWork(t)
	b.sharesKey(hub)
	_, url := hub.fleetOf("  share: ['play.*']")
	b.configure("nats:", "  url: "+url, "  name: b", "  mount: ['*']", "  rules: [{tools: play.run, durable: at-most-once}]")
	b.serve()
	b.has("play.run")

	o := b.run("call", "--detach", "play.echo", `{"text":"x"}`).exits(4).says("leave out --detach", "nats.rules")
	assert.Equalf(t, o.stdout, "", "it prints")
	b.run("call", "--detach", "no.tool").exits(3)
	b.run("call", "--detach", "--timeout", "1s", "play.run").exits(2)
	b.run("call", "--on", "hub", "play.run", work.call()).exits(4).says("none can be chosen")
	b.run("jobs").exits(0).says("no durable calls")
	b.run("jobs", "--state", "lost").exits(2)
	b.run("jobs", "show", "ABC", "--wait").exits(2).says("no durable call")

	id := b.detach("play.run", work.call())
	b.until("it runs", func() bool { return work.runs() == 1 })
	b.run("jobs").exits(0).prints(id, "play.run", "running", "hub", "cli")
	b.until("how full it is", func() bool {
		q := b.client().State().Fleet.Queue
		return q.State.Max > 0 && q.Results.Max > 0
	})
	b.run("jobs", "list", "--state", "queued,done").exits(0).says("no durable calls: none is queued or done")
	b.run("jobs", "show", id).exits(0).prints("at-most-once", "running", "the last on hub")
	b.run("jobs", "show", id, "--wait", "--timeout", "100ms").exits(7).says("goes on", "toolhost jobs show "+id)
	b.run("call", "play.run", work.call(), "--timeout", "300ms").exits(7).says("in the queue: toolhost jobs show", "goes on")
	b.bare("__complete", "--plugin-dir", b.plugins, "jobs", "show", "").exits(0).prints(id + "\tplay.run running")
	b.run("status").exits(0).prints("run here")
	b.until("both run", func() bool { return work.runs() == 2 })
	hub.run("status").exits(0).prints("2 run here")
	hub.run("doctor").prints("durable calls can be made")

	work.mayEnd()
	b.run("jobs", "show", id, "--wait").exits(0).prints("finished")
	b.records(id, "")
	b.run("audit", "show", id).exits(0).prints("The host hub took", "job", id, "on hub")
	hub.run("audit", "show", id).exits(0).prints("play.run", "cli on b")
	for _, c := range b.jobs("done") { // one was not waited for any longer
		b.records(c.ID, "")
	}
	var out struct {
		Success bool
		Content string
	}
	b.run("jobs", "show", id, "--wait", "--json").exits(0).json(&out)
	if !out.Success || !strings.Contains(out.Content, "finished") {
		t.Errorf("%+v", out)
	}
	b.run("call", "play.run", work.call()).exits(0).prints("finished").says("in the queue")
	b.run("call", "play.run", `{"program":"/no/such/program"}`).exits(1)
	b.run("jobs", "--state", "done").exits(0).prints(id)

	keyed := []string{"play.run", newWork(t).call(), "--idempotency-key", "order-17"}
	if first, again := b.detach(keyed...), b.detach(keyed...); first != again {
		t.Errorf("with one key there are the calls %s and %s", first, again)
	}
	b.run("call", "play.run", work.call(), "--idempotency-key", "order-17").exits(4).says("belongs to another call")

	// Of large arguments, so many are kept; the ends of all calls are on record.
	large, ids := newWork(t), []string{}
	b.write("large.json", large.call()+strings.Repeat(" ", 15<<20))
	for range 5 {
		ids = append(ids, b.detach("play.run", "@large.json"))
	}
	large.mayEnd()
	for _, id := range ids {
		b.run("jobs", "show", id, "--wait").exits(0)
		b.records(id, "")
	}

	second := newWork(t)
	var detached struct{ ID, Name string }
	b.run("call", "--detach", "--json", "play.run", second.call()).exits(0).json(&detached)
	assert.Equalf(t, detached.Name, "play.run", "%+v", detached)
	b.until("it runs", func() bool { return second.runs() == 1 })
	b.run("jobs", "cancel", detached.ID).exits(0).prints("canceled")
	b.run("jobs", "show", detached.ID, "--wait").exits(7).says("was canceled")
	b.run("audit", "--tool", "play.run", "--json").exits(0).prints(`"cli"`)
	hub.run("audit", "--tool", "play.run", "--json").exits(0).prints(`"b/*"`)
}

// Calls survive the ends of those who made them, of the host that has the server, and of the server.
func TestCallsSurviveTheirCaller(t *testing.T) {
	t.Parallel()
	hub, b, work := newWorld(t, "player"), newWorld(t), newWork(t)
	b.sharesKey(hub)
	one, url := hub.fleetOf("  share: ['play.*']")
	settings := []string{"nats:", "  url: " + url, "  name: b", "  mount: ['*']", "  " + atMostOnce}
	b.configure(settings...)
	first := b.serve()
	b.has("play.run")
	id := b.detach("play.run", work.call())
	b.until("it runs", func() bool { return work.runs() == 1 })
	waiting := make(chan outcome)
	for _, args := range [][]string{{"jobs", "show", id, "--wait"}, {"call", "play.run", newWork(t).call()}} {
		go func() { waiting <- b.run(args...) }()
	}
	b.until("both commands wait", func() bool {
		return b.client().State().Calls == 2 && len(b.jobs("running")) == 2
	})
	first.ends(syscall.SIGKILL, -1)
	for range 2 {
		o := (<-waiting).exits(6).says("goes on", "toolhost jobs show ")
		assert.NotContainsf(t, o.stderr, "not known", "it says")
	}
	again := b.serve()
	b.has("play.run")
	if c := b.callOf(id); c.State != durable.StateRunning {
		t.Errorf("after the restart it is %+v", c)
	}
	work.mayEnd()
	b.run("jobs", "show", id, "--wait").exits(0).prints("finished")
	if n := work.runs(); n != 1 {
		t.Errorf("it ran %d times", n)
	}
	b.records(id, "")

	// The server goes with its host, and comes back with what it has stored.
	port := url[strings.LastIndexByte(url, ':')+1:]
	one.ends(syscall.SIGTERM, 0)
	hub.configure("nats:", "  embedded: "+port, "  name: hub", "  store: "+filepath.Join(hub.state, "nats"), "  share: ['play.*']")
	hub.serve()
	b.has("play.run")
	b.run("jobs", "show", id, "--wait").exits(0).prints("finished")
	b.run("call", "play.run", work.call()).exits(0).prints("finished")
	again.ends(syscall.SIGTERM, 0)
	b.serve() // which looks for ends that are not on record
	b.has("play.run")
	for _, c := range b.jobs("done") {
		b.records(c.ID, "")
	}
}

// A host is killed while it runs a call: at least once runs it on another, at most once says that its
// outcome is not known.
func TestCallsSurviveTheirHost(t *testing.T) {
	t.Parallel()
	hub, once, many := newWorld(t), newWork(t), newWork(t)
	_, url := hub.fleetOf("  mount: ['*']", "  "+atLeastOnce)
	worker := func(name string) (*world, *serving) {
		w := newWorld(t, "player")
		w.sharesKey(hub)
		w.configure("nats:", "  url: "+url, "  name: "+name, "  share: ['*.run']", "  "+atLeastOnce)
		return w, w.serve()
	}
	killed, first := worker("first")
	hub.has("play.run")
	idMany := hub.detach("play.run", many.call())
	hub.until("it runs", func() bool { return many.runs() == 1 })
	hub.configure("nats:", "  embedded: 0", "  name: hub", "  store: "+filepath.Join(hub.state, "nats"), "  mount: ['*']", "  "+atMostOnce)
	hub.run("reload").exits(0)
	idOnce := hub.detach("play.run", once.call())
	hub.until("it runs", func() bool { return once.runs() == 1 })
	if c := hub.callOf(idOnce); c.Mode != durable.AtMostOnce || c.Worker != "first" {
		t.Errorf("%+v", c)
	}
	first.ends(syscall.SIGKILL, -1)
	worker("second")
	hub.until("it runs again", func() bool { return many.runs() == 2 })
	many.mayEnd()
	hub.run("jobs", "show", idMany, "--wait").exits(0).prints("finished")
	if c := hub.callOf(idMany); c.Attempts != 2 || c.Worker != "second" {
		t.Errorf("%+v", c)
	}
	hub.run("jobs", "show", idOnce, "--wait").exits(6).says("the outcome of the call is unknown", "find out what it has done")
	if n := once.runs(); n != 1 {
		t.Errorf("it ran %d times", n)
	}
	killed.serve() // which removes what the killed one has left, and so does the start of a plugin
	killed.run("call", "play.echo").exits(0)
}

// A call of a host's own tool survives the kill of everything that there is.
func TestCallsOfOwnTool(t *testing.T) {
	t.Parallel()
	w, work := newWorld(t, "player"), newWork(t)
	first, _ := w.fleetOf("  rules: [{tools: play.run, durable: at-least-once}]")
	w.has("play.run")
	id := w.detach("play.run", work.call())
	w.until("it runs", func() bool { return work.runs() == 1 })
	first.ends(syscall.SIGKILL, -1)
	w.serve()
	w.until("it runs again", func() bool { return work.runs() == 2 })
	work.mayEnd()
	w.run("jobs", "show", id, "--wait").exits(0).prints("finished")
	w.records(id, "")
	w.run("call", "play.echo").exits(0)
}

// Hosts of other keys use the queue that the host of the server has made, with no more than the subjects that
// they need.
func TestCallsOfPeers(t *testing.T) {
	t.Parallel()
	hub, a, b, work := newWorld(t), newWorld(t, "player"), newWorld(t), newWork(t)
	keyA, keyB := a.fleetKey(), b.fleetKey()
	_, url := hub.fleetOf("  peers: {ay: {key: " + keyA + "}, bee: {key: " + keyB + "}}")
	a.configure("nats:", "  url: "+url, "  name: a", "  share: ['play.*']", "  peers: {bee: {key: "+keyB+"}}")
	a.serve()
	b.configure("nats:", "  url: "+url, "  name: b", "  mount: ['*']", "  "+atMostOnce, "  peers: {ay: {key: "+keyA+"}}")
	b.serve()
	b.has("play.run")
	id := b.detach("play.run", work.call())
	b.until("it runs", func() bool { return work.runs() == 1 })
	hub.run("jobs").exits(0).says("no durable calls")
	canceled := b.detach("play.run", newWork(t).call())
	b.run("jobs", "cancel", canceled).exits(0)
	work.mayEnd()
	b.run("jobs", "show", id, "--wait").exits(0).prints("finished")
	b.run("jobs").exits(0).prints(id, "done", canceled, "canceled")
	for _, w := range []*world{a, b} {
		var v fleet.View
		w.run("fleet", "--json").exits(0).json(&v)
		if v.Hosts[0].Reason != "" {
			t.Errorf("%s lacks a permission: %s", v.Hosts[0].Name, v.Hosts[0].Reason)
		}
	}
}

// A queue that is full says so at once, and a server without JetStream says what to do.
func TestCallsRefused(t *testing.T) {
	t.Parallel()
	hub, b, work := newWorld(t, "player"), newWorld(t), newWork(t)
	b.sharesKey(hub)
	one, url := hub.fleetOf("  share: ['play.*']")
	limitQueue(t, hub, url, 2)
	b.configure("nats:", "  url: "+url, "  name: b", "  mount: ['*']", "  "+atMostOnce)
	b.serve()
	b.has("play.run")
	b.run("fleet", "drain", "hub").exits(0)
	b.until("hub drains", func() bool { return b.hosts()["hub"].State == fleet.HostDraining })
	for range 2 {
		b.detach("play.run", work.call())
	}
	b.shows("play.run: 2 waiting for a worker", "fleet")
	b.run("call", "--detach", "play.run", work.call()).exits(5).says("the queue of durable calls is full")
	begin := time.Now()
	b.run("call", "play.run", work.call()).exits(5).says("full")
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	one.ends(syscall.SIGTERM, 0)

	c, d := newWorld(t, "player"), newWorld(t)
	d.sharesKey(c)
	c.configure("nats: {share: ['*']}")
	two := c.serve("--nats", "embedded:0", "--name", "c")
	d.configure("nats:", "  url: "+two.server(), "  name: d", "  mount: ['*']", "  rules: [{tools: play.run, durable: at-most-once}]")
	three := d.serve()
	d.has("play.run")
	d.run("call", "play.run", work.call()).exits(6).says("-js", "JetStream")
	d.run("call", "play.echo").exits(0)
	d.run("status").exits(1).prints("tools whose rule is durable cannot be called")
	d.run("jobs", "show", strings.Repeat("A", 26)).says("JetStream")
	c.configure("nats:", "  share: ['*']", "  "+atMostOnce)
	c.run("reload").exits(1).says("start the daemon again", "nats.rules")
	three.ends(syscall.SIGTERM, 0)
	if n := strings.Count(strings.Join(three.said, "\n"), "the tools whose rule is durable cannot be called"); n != 1 {
		t.Errorf("its log says so %d times:\n%s", n, strings.Join(three.said, "\n"))
	}
}

// limitQueue makes the queue as an operator does who wants it small.
func limitQueue(t *testing.T, w *world, url string, most int64) {
	t.Helper()
	key := require.Must(fleet.KeyFile(w.keyFile()))(t)
	nc := require.Must(nats.Connect(url, nats.Nkey(key.Public(), key.Sign)))(t)
	defer nc.Close()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	require.Eventually(t, "the queue is limited", func() bool {
		_, err = js.CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{
			Name: durable.QueueName, Subjects: []string{"toolhost.v1.q.*.*"}, Retention: jetstream.WorkQueuePolicy,
			Discard: jetstream.DiscardNew, MaxMsgs: most,
		})
		if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // the hub has just made it
			t.Fatal(err)
		}
		return err == nil
	})
}

// A task of a durable tool survives the restart of the daemon, for its caller and no other one.
func TestTaskOfDurableTool(t *testing.T) {
	t.Parallel()
	const can = `"extensions":{"io.modelcontextprotocol/tasks":{}}`
	hub, b, work, other := newWorld(t, "player"), newWorld(t), newWork(t), newWork(t)
	b.sharesKey(hub)
	_, url := hub.fleetOf("  share: ['play.*']")
	b.configure("nats:", "  url: "+url, "  name: b", "  mount: ['*']", "  "+atMostOnce)
	f := b.serveMCP()
	ann, ben := b.token("ann"), b.token("ben")
	b.has("play.run")
	begin := func(call string) string {
		t.Helper()
		a := f.tasked(ann, can, "tools/call", "play_run", `"name":"play_run","arguments":`+call)
		if a.Result.ResultType != "task" || len(a.Result.TaskID) != 26 {
			t.Fatalf("not a task: %s", a.text)
		}
		return a.Result.TaskID
	}
	about := func(token, method, id string) taskAnswer {
		t.Helper()
		return f.tasked(token, can, "tasks/"+method, id, `"taskId":"`+id+`"`)
	}
	id, ended := begin(work.call()), begin(other.call())
	if c := b.callOf(id); c.Caller != "ann" || c.Tool != "play.run" {
		t.Errorf("the call of the task is %+v", c)
	}
	b.until("they run", func() bool { return work.runs() == 1 && other.runs() == 1 })
	f.ends(syscall.SIGKILL, -1)
	f = b.serveMCP()
	b.has("play.run")
	if a := about(ann, "get", id); a.Result.Status != "working" {
		t.Errorf("after the restart: %s", a.text)
	}
	for _, method := range []string{"get", "update", "cancel"} {
		if a := about(ben, method, id); a.Error.Code != -32602 {
			t.Errorf("%s of another: %s", method, a.text)
		}
	}
	if a := about(ann, "cancel", ended); a.Error.Code != 0 {
		t.Errorf("cancel: %s", a.text)
	}
	if a := about(ann, "get", ended); a.Result.Status != "cancelled" {
		t.Errorf("a task that was canceled: %s", a.text)
	}
	work.mayEnd()
	var a taskAnswer
	b.until("the task has ended", func() bool {
		a = about(ann, "get", id)
		return a.Result.Status == "completed"
	})
	if len(a.Result.Result.Content) != 1 || !strings.Contains(a.Result.Result.Content[0].Text, "finished") || work.runs() != 1 {
		t.Errorf("its result after %d runs: %s", work.runs(), a.text)
	}
	live := begin(newWork(t).call())
	if a := about(ann, "cancel", live); a.Error.Code != 0 {
		t.Errorf("cancel: %s", a.text)
	}
	if c := b.callOf(live); c.State != durable.StateCanceled {
		t.Errorf("the call of a task that was canceled is %s", c.State)
	}
}

// A task that waits for a yes is asked about again after a kill, and runs once with the yes, and never without.
func TestTaskThatWaitsForApproval(t *testing.T) {
	t.Parallel()
	const can = `"extensions":{"io.modelcontextprotocol/tasks":{}}`
	hub, b, work := newWorld(t, "player"), newWorld(t), newWork(t)
	b.sharesKey(hub)
	_, url := hub.fleetOf("  share: ['play.*']")
	b.configure("tools: {play.run: {approval: ask}}", "callers: {ann: {ask: [queue]}}", "nats:", "  url: "+url, "  name: b", "  mount: ['*']", "  "+atMostOnce)
	f := b.serveMCP()
	ann := b.token("ann")
	b.has("play.run")
	a := f.tasked(ann, can, "tools/call", "play_run", `"name":"play_run","arguments":`+work.call())
	id := a.Result.TaskID
	if len(id) != 26 {
		t.Fatalf("not a task: %s", a.text)
	}
	question := func() string { return b.nextQuestion().ID }
	question()
	b.run("jobs", "--state", "waiting").exits(0).prints(id, "ann")
	f.ends(syscall.SIGKILL, -1)
	f = b.serveMCP()
	b.run("approvals", "approve", question()).exits(0)
	work.mayEnd()
	b.until("the task has ended", func() bool {
		a = f.tasked(ann, can, "tasks/get", id, `"taskId":"`+id+`"`)
		return a.Result.Status == "completed"
	})
	if c := b.callOf(id); c.State != durable.StateDone || work.runs() != 1 {
		t.Errorf("after %d runs: %+v", work.runs(), c)
	}
}
