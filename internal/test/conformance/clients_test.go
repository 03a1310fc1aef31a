package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
)

// connection is one way for a client of another make to reach toolhost.
type connection struct {
	era   string
	stdio bool
}

// eachConnection runs f with a client of each generation on each transport.
func eachConnection(t *testing.T, f func(*testing.T, connection)) {
	for name, c := range map[string]connection{
		"sessions over stdio": {sessions, true},
		"sessions over HTTP":  {sessions, false},
		"requests over stdio": {requests, true},
		"requests over HTTP":  {requests, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, c)
		})
	}
}

// client connects to toolhost with these arguments of serve.
func (c connection) client(w *world, arguments ...string) *driver {
	w.t.Helper()
	if c.stdio {
		words := append([]string{w.toolhost()}, w.arguments("serve", "--mcp", "stdio")...)
		return w.drive(c.era, "", append(words, arguments...)...)
	}
	s := w.serve(arguments...)
	return w.drive(c.era, s.token, s.url)
}

const listChanged = "notifications/tools/list_changed"

// A client made with the TypeScript SDK lists, calls, is told of progress, and cancels.
func TestClientOfAnotherSDK(t *testing.T) {
	t.Parallel()
	modules(t)
	eachConnection(t, func(t *testing.T, c connection) {
		w := newWorld(t, "", fixtures, plugintest.Fixture)
		d := c.client(w)
		var about struct{ Server struct{ Name string } }
		d.do("server", nil, &about)
		assert.Equalf(t, about.Server.Name, "toolhost", "the server")
		require.Eventually(t, "the tools", func() bool { // a client is answered before all plugins have started
			names := d.tools()
			return slices.Contains(names, "test_simple_text") && slices.Contains(names, "test_wait")
		})
		if text := d.call("test_simple_text", nil).text(); text != "This is a simple text response for testing." {
			t.Errorf("the text is %q", text)
		}
		assert.Containsf(t, d.call("test_echo", map[string]any{"text": "é\u2028"}).text(), "é", "the arguments come back as")
		if r := d.tool("test_fail", nil); !r.IsError || !strings.Contains(r.text(), "failed as asked") {
			t.Errorf("a tool's failure is %+v", r)
		}
		m := d.try("call", toolCall("no_such_tool", nil))
		if m.Error == nil || !strings.Contains(m.Error.Message, "Unknown tool") {
			t.Errorf("an unknown tool is %+v", m)
		}
		testProgress(t, d)
		testCancellation(t, d)
	})
}

func testProgress(t *testing.T, d *driver) {
	id, answer := d.send("call", toolCall("test_tool_with_progress", nil))
	d.wait("call", answer)
	var done []float64
	for _, m := range d.seen("progress") {
		var p struct{ Progress, Total float64 }
		if err := json.Unmarshal(m.Params, &p); err != nil || m.Call != id || p.Total != 100 {
			t.Errorf("progress of call %d (%d): %s (%v)", m.Call, id, m.Params, err)
		}
		done = append(done, p.Progress)
	}
	grows := slices.IsSorted(done) && len(slices.Compact(slices.Clone(done))) == len(done)
	if len(done) == 0 || done[len(done)-1] != 100 || !grows {
		t.Errorf("the progress is %v", done)
	}
}

// testCancellation checks that a call's end reaches the plugin.
func testCancellation(t *testing.T, d *driver) {
	count := func(ended int) string {
		return d.call("test_waited", map[string]any{"key": "k", "began": 1, "ended": ended}).text()
	}
	id, answer := d.send("call", toolCall("test_wait", map[string]any{"key": "k"}))
	for began := ""; !strings.Contains(began, `"began":1`); {
		began = count(0)
	}
	d.do("cancel", map[string]any{"call": id}, nil)
	if m := d.wait("call", answer); m.Error == nil {
		t.Errorf("a canceled call returns %s", m.Result)
	}
	for ended := ""; !strings.Contains(ended, `"ended":1`); {
		ended = count(1)
	}
}

// A plugin that comes and goes is in the client's list and leaves it.
func TestListChangedForAnotherSDK(t *testing.T) {
	t.Parallel()
	modules(t)
	eachConnection(t, func(t *testing.T, c connection) {
		w := newWorld(t, "", fixtures)
		d := c.client(w)
		d.do("listen", map[string]any{"toolsListChanged": true}, nil)
		follow := func(has bool) {
			for slices.Contains(d.tools(), "named-2_t0") != has {
				d.await(listChanged, nil)
				d.forget()
			}
		}
		follow(false)
		path := plugintest.Install(t, w.plugins, "named-2")
		follow(true)
		d.call("named-2_t0", nil)
		require.NoError(t, os.Remove(path))
		follow(false)
	})
}

// A dangerous call asks the client, and its answer is on record as the client's.
func TestApprovalByAnotherSDK(t *testing.T) {
	t.Parallel()
	modules(t)
	eachConnection(t, func(t *testing.T, c connection) {
		w := newWorld(t, "", plugintest.Preview)
		d := c.client(w)
		d.do("answer", map[string]any{"action": "decline"}, nil)
		r := d.tool("preview_write", map[string]any{"text": "a"})
		if !r.IsError || !strings.Contains(r.text(), "Approval denied for tool: ") {
			t.Errorf("a call that was declined: %+v", r)
		}
		question := d.await("elicitation", nil)
		assert.Containsf(t, string(question.Params), "would write a, has written 0", "the question has no preview: %s", question.Params)
		d.do("answer", map[string]any{"action": "accept", "content": map[string]any{}}, nil)
		assert.Equalf(t, d.call("preview_write", map[string]any{"text": "a"}).text(), "has written 1", "the call that was approved")
		w.onRecord(`"approver":"client typescript"`)
	})
}

// onRecord looks for a text in the audit log.
func (w *world) onRecord(want string) {
	w.t.Helper()
	var all strings.Builder
	files, _ := filepath.Glob(filepath.Join(w.home, "state", "toolhost", "*"))
	for _, f := range files {
		text, _ := os.ReadFile(f)
		all.Write(text)
	}
	if !strings.Contains(all.String(), want) {
		w.t.Errorf("%s is not in the audit log:\n%s", want, &all)
	}
}
