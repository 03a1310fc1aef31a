package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// The generations of the protocol, by how a client calls: in a session that it began, or with
// requests that stand alone.
const (
	sessions = "sessions" // up to 2025-11-25, with version 1 of the TypeScript SDK
	requests = "requests" // 2026-07-28, with version 2
)

// driver is a process of client.mjs.
type driver struct {
	t     *testing.T
	stdin io.WriteCloser

	mu      sync.Mutex
	next    int
	answers map[int]chan message
	events  []message
	more    chan struct{} // closed at the next event
}

// message is a line of client.mjs.
type message struct {
	ID     int             `json:"id"`
	Event  string          `json:"event"`
	Call   int             `json:"call"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    any    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// drive connects a client to a target: a URL, or a program and its arguments.
func (w *world) drive(era, token string, target ...string) *driver {
	w.t.Helper()
	script, err := filepath.Abs("client.mjs")
	if err != nil {
		w.t.Fatal(err)
	}
	words := append(node(w.t, "", modules(w.t), era), target...)
	words[1] = script
	ctx, end := context.WithCancel(context.Background())
	cmd := w.program(ctx, words[0], words[1:]...)
	cmd.Env = append(cmd.Env, "TOKEN="+token)
	complaints := newLines()
	cmd.Stderr = complaints
	d := &driver{t: w.t, answers: map[int]chan message{}, more: make(chan struct{})}
	if d.stdin, err = cmd.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(func() { d.read(out) })
	w.t.Cleanup(func() {
		_ = d.stdin.Close()
		reading.Wait()
		if err := wait(cmd); err != nil {
			w.t.Errorf("client.mjs: %v", err)
		}
		end()
		if w.t.Failed() {
			w.t.Logf("client.mjs (%s, %s) complains:\n%s", era, target[0], complaints)
		}
	})
	d.await("connected", nil)
	return d
}

func wait(cmd *exec.Cmd) error { return cmd.Wait() }

func (d *driver) read(out io.Reader) {
	s := bufio.NewScanner(out)
	s.Buffer(nil, 64<<20)
	for s.Scan() {
		var m message
		if err := json.Unmarshal(s.Bytes(), &m); err != nil {
			d.t.Errorf("client.mjs says %q", s.Text())
			return
		}
		d.mu.Lock()
		if answer := d.answers[m.ID]; answer != nil {
			answer <- m
			delete(d.answers, m.ID)
		} else {
			d.events = append(d.events, m)
			close(d.more)
			d.more = make(chan struct{})
		}
		d.mu.Unlock()
	}
}

// send begins an operation.
func (d *driver) send(op string, params any) (id int, answer chan message) {
	d.t.Helper()
	d.mu.Lock()
	d.next++
	id, answer = d.next, make(chan message, 1)
	d.answers[id] = answer
	d.mu.Unlock()
	line, err := json.Marshal(map[string]any{"id": id, "op": op, "params": params})
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := d.stdin.Write(append(line, '\n')); err != nil {
		d.t.Fatal(err)
	}
	return id, answer
}

// try runs an operation to its end, whatever that is.
func (d *driver) try(op string, params any) message {
	d.t.Helper()
	_, answer := d.send(op, params)
	return d.wait(op, answer)
}

func (d *driver) wait(op string, answer chan message) message {
	d.t.Helper()
	select {
	case m := <-answer:
		return m
	case <-time.After(limit):
		d.t.Fatalf("%s is not answered", op)
		return message{}
	}
}

// do runs an operation that succeeds.
func (d *driver) do(op string, params, result any) {
	d.t.Helper()
	m := d.try(op, params)
	if m.Error != nil {
		d.t.Fatalf("%s %v: %s", op, params, m.Error.Message)
	}
	if result == nil {
		return
	}
	if err := json.Unmarshal(m.Result, result); err != nil {
		d.t.Fatalf("%s: %v in %s", op, err, m.Result)
	}
}

// await returns the first event of a name that fits.
func (d *driver) await(event string, fits func(message) bool) message {
	d.t.Helper()
	deadline := time.After(limit)
	for seen := 0; ; {
		d.mu.Lock()
		events, more := d.events, d.more
		d.mu.Unlock()
		for ; seen < len(events); seen++ {
			if m := events[seen]; m.Event == event && (fits == nil || fits(m)) {
				return m
			}
		}
		select {
		case <-more:
		case <-deadline:
			d.t.Fatalf("no event %s among %v", event, events)
		}
	}
}

// forget drops the events so far.
func (d *driver) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = nil
}

// seen are the events of a name so far.
func (d *driver) seen(event string) (out []message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range d.events {
		if m.Event == event {
			out = append(out, m)
		}
	}
	return out
}

// result is what a tool returned.
type result struct {
	Content []struct {
		Type, Text, Data, MIMEType string
		Resource                   struct{ URI, Text string }
	} `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
}

func (r result) text() (s string) {
	for _, c := range r.Content {
		s += c.Text
	}
	return s
}

// call calls a tool that succeeds.
func (d *driver) call(name string, arguments any) result {
	d.t.Helper()
	r := d.tool(name, arguments)
	if r.IsError {
		d.t.Fatalf("%s: %s", name, r.text())
	}
	return r
}

// tool calls a tool that answers, perhaps with its failure.
func (d *driver) tool(name string, arguments any) (r result) {
	d.t.Helper()
	d.do("call", toolCall(name, arguments), &r)
	return r
}

func toolCall(name string, arguments any) map[string]any {
	if arguments == nil {
		arguments = map[string]any{}
	}
	return map[string]any{"name": name, "arguments": arguments}
}

// tools are the names of the tools that the client sees.
func (d *driver) tools() (names []string) {
	d.t.Helper()
	var list struct{ Tools []struct{ Name string } }
	d.do("tools", nil, &list)
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	return names
}

func (m message) String() string { return fmt.Sprintf("%s %s", m.Event, m.Params) }
