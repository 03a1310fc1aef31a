package host_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/fixture"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/tooltest"
)

func TestHostIsAProvider(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, func(t *testing.T) tool.Provider {
		h := newHost(t)
		for _, f := range fixture.Tools() {
			require.NoError(t, h.Register(f))
		}
		return h
	})
}

// A host in a host: the suite holds through both.
func TestNestedHostIsAProvider(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, func(t *testing.T) tool.Provider {
		inner, outer := newHost(t), newHost(t)
		for _, f := range fixture.Tools() {
			require.NoError(t, inner.Register(f))
		}
		require.Must(outer.Attach(t.Context(), "inner", inner))(t)
		return outer.Session()
	})
}

// Unknown, invalid, denied, unapproved: in this order, and none of them runs.
func TestOrderOfRefusals(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	runs := 0
	guarded := echo("guarded", func(d *tool.Definition) { d.Permission, d.Safety = "fs:write", tool.Dangerous })
	require.NoError(t, h.Register(counted(guarded, &runs)))
	nobody := h.Session()
	writer := h.Session(host.WithGrants("fs:write"))
	for _, c := range []struct {
		name    string
		session *host.Session
		tool    string
		args    string
		code    tool.Code
		stage   string
		text    string
	}{
		{"unknown", nobody, "guardet", `{"bad":1}`, tool.CodeNotFound, callstage.Resolve, "Unknown tool: guardet (did you mean guarded?)"},
		{"invalid", nobody, "guarded", `{"bad":1}`, tool.CodeInvalidArguments, callstage.Validate, "Invalid tool call: unexpected argument: bad"},
		{"denied", nobody, "guarded", `{}`, tool.CodePermissionDenied, callstage.Authorize, "Permission denied for tool: guarded"},
		{"no approver", writer, "guarded", `{}`, tool.CodeApprovalRequired, callstage.Approve, "approval"},
	} {
		_, err := c.session.Execute(t.Context(), tool.Call{Name: c.tool, Arguments: []byte(c.args)})
		var e *tool.Error
		if !errors.As(err, &e) || e.Code != c.code || e.Stage != c.stage || !strings.Contains(err.Error(), c.text) || !e.Unsent || e.Advice() == "" {
			t.Errorf("%s: got %v (%+v)", c.name, err, e)
		}
		out := c.session.Call(t.Context(), tool.Call{ID: c.name, Name: c.tool, Arguments: []byte(c.args)})
		if out.ID != c.name || out.Success || out.Error == nil || out.Error.Code != c.code || out.Content == "" || out.Metadata.Attempts != 0 {
			t.Errorf("%s: outcome %+v", c.name, out)
		}
	}
	if runs != 0 {
		t.Errorf("the tool ran %d times", runs)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	runs := 0
	typed := echo("typed", func(d *tool.Definition) {
		d.InputSchema = tool.Schema(`{"type":"object","required":["f"],"additionalProperties":false,
			"properties":{"f":{"type":"string","pattern":"^[^/].*$"},"n":{"type":"integer"},"o":{"type":"object","properties":{"x":{"type":"boolean"}}}}}`)
	})
	none := echo("none", func(d *tool.Definition) { d.InputSchema = nil })
	for _, x := range []tool.Tool{counted(typed, &runs), counted(none, &runs)} {
		require.NoError(t, h.Register(x))
	}
	for _, c := range []struct{ name, args, text string }{
		{"typed", `{}`, "missing required argument: f"},
		{"typed", ``, "missing required argument: f"},
		{"typed", `{"f":"x","g":1}`, "unexpected argument: g"},
		{"typed", `{"f":5}`, "invalid value for f: expected string, got integer"},
		{"typed", `{"f":"/etc"}`, "invalid value for f"},
		{"typed", `{"f":"x","n":1.5}`, "invalid value for n: expected integer, got number"},
		{"typed", `{"f":"x","o":{"x":null}}`, "invalid value for o.x: expected boolean, got null"},
		{"typed", `{"f":"x","f":"y"}`, "duplicate"},
		{"typed", `{"f":`, "malformed JSON"},
		{"typed", `[]`, "object"},
		{"typed", strings.Repeat(`{"o":`, 10_000), "deep"},
		{"none", `{"f":"x"}`, "unexpected argument: f"},
	} {
		_, err := h.Execute(t.Context(), tool.Call{Name: c.name, Arguments: []byte(c.args)})
		valid := h.ValidateCall(c.name, []byte(c.args))
		if tool.CodeOf(err) != tool.CodeInvalidArguments || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s(%.40s): got %v, want %q", c.name, c.args, err, c.text)
		}
		if valid == nil || valid.Error() != err.Error() {
			t.Errorf("%s(%.40s): ValidateCall says %v, the way of a call %v", c.name, c.args, valid, err)
		}
	}
	if runs != 0 {
		t.Errorf("a tool ran %d times", runs)
	}
	assert.ErrorIsf(t, h.ValidateCall("missing", nil), tool.ErrNotFound, "ValidateCall of an unknown tool")
	require.Must(h.Execute(t.Context(), tool.Call{Name: "none"}))(t)
}

func TestGrants(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for name, c := range map[string]tool.Capability{"read": "fs:read", "write": "fs:write", "open": ""} {
		require.NoError(t, h.Register(echo(name, func(d *tool.Definition) { d.Permission = c })))
	}
	s := h.Session(host.WithGrants("fs:read"))
	works := func(name string) bool {
		return s.Call(t.Context(), tool.Call{Name: name}).Success
	}
	if !works("read") || works("write") || !works("open") {
		t.Error("fs:read alone should allow read and open, and not write")
	}
	s.Grant("fs:write")
	if !works("write") {
		t.Error("a grant has no effect")
	}
	s.Revoke("fs:read", "fs:write")
	if works("read") || works("write") {
		t.Error("a revoked capability is still held")
	}
	if _, err := h.Execute(t.Context(), tool.Call{Name: "read"}); tool.CodeOf(err) != tool.CodePermissionDenied {
		t.Errorf("a bare host's caller: %v", err)
	}
}

func TestApproval(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	runs := 0
	danger := echo("danger", func(d *tool.Definition) { d.Safety = tool.Unset }) // which counts as dangerous
	require.NoError(t, h.Register(counted(danger, &runs)))
	for _, c := range []struct {
		name     string
		decision policy.Decision
		err      error
		code     tool.Code
		content  string
		runs     int
	}{
		{"allow", policy.Decision{Verdict: policy.Allow}, nil, "", `danger:{"text":"mine"}`, 1},
		{"deny", policy.Decision{Reason: "not on a Friday"}, nil, tool.CodeApprovalDenied, "not on a Friday", 0},
		{"modify", policy.Decision{Verdict: policy.Modify, Arguments: []byte(`{"text":"theirs"}`)}, nil, "", `danger:{"text":"theirs"}`, 1},
		{"modify badly", policy.Decision{Verdict: policy.Modify, Arguments: []byte(`{"text":5}`)}, nil, tool.CodeInvalidArguments, "expected string", 0},
		{"fail", policy.Decision{Verdict: policy.Allow}, errors.New("no terminal"), tool.CodeApprovalDenied, "no terminal", 0},
		{"nonsense", policy.Decision{Verdict: 77}, nil, tool.CodeApprovalDenied, "denied", 0},
	} {
		runs = 0
		var asked policy.Request
		s := h.Session(host.WithSessionID("s-"+c.name), host.WithApprover(policy.ApproverFunc(func(_ context.Context, r policy.Request) (policy.Decision, error) {
			asked = r
			return c.decision, c.err
		})))
		out := s.Call(t.Context(), tool.Call{Name: "danger", Arguments: []byte(`{"text":"mine"}`)})
		var code tool.Code
		if out.Error != nil {
			code = out.Error.Code
		}
		if code != c.code || !strings.Contains(out.Content, c.content) || runs != c.runs || out.Metadata.Approved != (c.code == "") {
			t.Errorf("%s: %d runs, outcome %+v", c.name, runs, out)
		}
		if asked.Definition.Name != "danger" || asked.Session != "s-"+c.name || string(asked.Call.Arguments) != `{"text":"mine"}` {
			t.Errorf("%s: the approver was asked %+v", c.name, asked)
		}
	}
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	reply := func(name string, res tool.Result, err error) {
		t.Helper()
		x := echo(name)
		x.Handler = func(context.Context, tool.Call) (tool.Result, error) { return res, err }
		require.Must(h.Upsert("plug", x))(t)
	}
	reply("text", tool.Text("hello"), nil)
	reply("nothing", tool.Result{}, nil)
	reply("structured", tool.Result{Structured: []byte(`{"a":1}`)}, nil)
	reply("fails", tool.Failure("disk full"), nil)
	reply("errs", tool.Result{}, errors.New("broken"))

	for _, c := range []struct {
		name    string
		success bool
		content string
		code    tool.Code
	}{
		{"text", true, "hello", ""}, {"nothing", true, "nil", ""}, {"structured", true, `{"a":1}`, ""},
		{"fails", false, "disk full", tool.CodeToolFailed}, {"errs", false, "broken", tool.CodeInternal},
		{"missing", false, "Unknown tool: missing", tool.CodeNotFound},
	} {
		out := h.Call(t.Context(), tool.Call{ID: "id-" + c.name, Name: c.name})
		if out.ID != "id-"+c.name || out.Name != c.name || out.Success != c.success || !strings.Contains(out.Content, c.content) {
			t.Errorf("%s: %+v", c.name, out)
		}
		if c.success != (out.Error == nil) || !c.success && out.Error.Code != c.code {
			t.Errorf("%s: error %+v", c.name, out.Error)
		}
		var raw map[string]any
		b := require.Must(json.Marshal(out))(t)
		require.NoError(t, json.Unmarshal(b, &raw))
		meta, _ := raw["metadata"].(map[string]any)
		for _, key := range []string{"execution_time_ms", "safety_level", "approved", "plugin", "attempts"} {
			if _, ok := meta[key]; !ok {
				t.Errorf("%s: metadata lacks %s: %s", c.name, key, b)
			}
		}
		if c.name != "missing" && (meta["plugin"] != "plug" || meta["safety_level"] != "safe" || meta["attempts"] != 1.0) {
			t.Errorf("%s: metadata %v", c.name, meta)
		}
	}
	if a, b := h.Call(t.Context(), tool.Call{Name: "text"}).ID, h.Call(t.Context(), tool.Call{Name: "text"}).ID; a == "" || a == b {
		t.Errorf("made up the IDs %q and %q", a, b)
	}
}

func TestPanickingHandler(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	h := newHost(t, host.WithLogger(hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Info})))
	x := echo("boom")
	x.Handler = func(context.Context, tool.Call) (tool.Result, error) { panic("kaboom") }
	require.NoError(t, h.Register(x))
	out := h.Call(t.Context(), tool.Call{Name: "boom"})
	if out.Success || out.Error.Code != tool.CodeToolFailed || !strings.Contains(out.Content, "tool boom execution failed: panic: kaboom") {
		t.Errorf("outcome %+v", out)
	}
	assert.NotContainsf(t, out.Content, "goroutine", "the stack is in the model's text")
	if !strings.Contains(log.String(), "goroutine") || !strings.Contains(log.String(), "TestPanickingHandler") {
		t.Errorf("the stack is not in the log: %q", log.String())
	}
	assert.Equalf(t, h.Len(), 1, "the registry changed")
}

func TestBatchKeepsOrder(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for i, safety := range []tool.Safety{tool.Safe, tool.Safe, tool.Cautious} {
		require.NoError(t, h.Register(echo(fmt.Sprintf("t%d", i), func(d *tool.Definition) { d.Safety = safety })))
	}
	out := h.CallAll(t.Context(), []tool.Call{{Name: "t0"}, {Name: "unknown"}, {Name: "t2"}, {Name: "t1"}})
	want := []string{"t0:", "Unknown tool: unknown", "t2:", "t1:"}
	for i, o := range out {
		if !strings.HasPrefix(o.Content, want[i]) {
			t.Errorf("outcome %d is %q, want %q", i, o.Content, want[i])
		}
	}
	if len(out) != len(want) {
		t.Errorf("%d outcomes", len(out))
	}
}

// Safe calls that follow each other overlap: each waits for the other here.
func TestBatchOverlapsSafeCalls(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	met := make(chan struct{})
	meet := func(f func(context.Context) error) tool.Handler {
		return func(ctx context.Context, _ tool.Call) (tool.Result, error) { return tool.Text("met"), f(ctx) }
	}
	a, b := echo("a"), echo("b")
	a.Handler = meet(func(ctx context.Context) error {
		select {
		case met <- struct{}{}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	b.Handler = meet(func(ctx context.Context) error {
		select {
		case <-met:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	for _, x := range []tool.Tool{a, b} {
		require.NoError(t, h.Register(x))
	}
	ctx, cancel := context.WithTimeout(t.Context(), ceiling)
	defer cancel()
	for _, out := range h.CallAll(ctx, []tool.Call{{Name: "a"}, {Name: "b"}}) {
		if !out.Success {
			t.Errorf("%+v", out)
		}
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	slow := echo("slow", func(d *tool.Definition) { d.Timeout = 1 })
	slow.Handler = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		<-ctx.Done()
		return tool.Result{}, context.Cause(ctx)
	}
	require.NoError(t, h.Register(slow))
	_, err := h.Execute(t.Context(), tool.Call{Name: "slow"})
	if tool.CodeOf(err) != tool.CodeDeadlineExceeded || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "limit of 1ns") {
		t.Errorf("got %v", err)
	}
}

func TestDefaultHost(t *testing.T) {
	t.Parallel()
	name := "default." + rand.Text() // the default host is one for all runs
	require.NoError(t, host.Register(echo(name)))
	listed := require.Must(host.List(t.Context()))(t)
	named := func(d tool.Definition) bool { return d.Name == name && d.Alias == strings.ReplaceAll(name, ".", "_") }
	if _, ok := host.Get(name); !ok || !slices.ContainsFunc(listed, named) {
		t.Errorf("listed %v", listed)
	}
	next := echo(name)
	next.Handler = echo("next").Handler
	require.NoError(t, host.Replace(next))
	if res := require.Must(host.Execute(t.Context(), tool.Call{Name: name}))(t); res.Text() != "next:" {
		t.Errorf("answered %q", res.Text())
	}
}
