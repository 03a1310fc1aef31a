package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// openLog is a log in a directory of its own.
func openLog(t *testing.T) (*audit.File, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log := require.Must(audit.Open(path, audit.Options{}))(t)
	t.Cleanup(func() { _ = log.Close() })
	return log, path
}

var levels = map[string]tool.Safety{"safe": tool.Safe, "cautious": tool.Cautious, "dangerous": tool.Dangerous}

// What ran and what was asked for are both on record, at every level, and neither
// has a secret.
func TestModifiedArgumentsAreOnRecord(t *testing.T) {
	t.Parallel()
	log, path := openLog(t)
	h := newHost(t, host.WithAudit(log), host.WithOverrides(map[string]host.Override{
		"safe": {Approval: policy.Ask}, "cautious": {Approval: policy.Ask},
	}))
	s := h.Session(host.WithApprover(policy.ApproverFunc(func(_ context.Context, r policy.Request) (policy.Decision, error) {
		if strings.Contains(string(r.Call.Arguments), "as it is") {
			return policy.Decision{Verdict: policy.Allow}, nil
		}
		if strings.Contains(string(r.Call.Arguments), "in vain") {
			return policy.Decision{Verdict: policy.Modify, Arguments: []byte(`{"text":5}`)}, nil
		}
		return policy.Decision{Verdict: policy.Modify, Arguments: []byte(`{"text":"given","token":"hunter2"}`)}, nil
	})))
	for name, level := range levels {
		require.NoError(t, h.Register(echo(name, func(d *tool.Definition) {
			d.Safety, d.Sensitive = level, []string{"token"}
			d.InputSchema = tool.Schema(`{"type":"object","properties":{"text":{"type":"string"},"token":{"type":"string"}}}`)
		})))
	}
	for name := range levels {
		before := len(lines(t, path))
		out := s.Call(t.Context(), tool.Call{Name: name, Arguments: []byte(`{"text":"asked","token":"hunter1"}`)})
		if !strings.Contains(out.Content, "given") {
			t.Fatalf("%s: %+v", name, out)
		}
		given, asked := `{"text":"given","token":"[redacted]"}`, `{"text":"asked","token":"[redacted]"}`
		for _, r := range lines(t, path)[before:] {
			if string(r.Input) != given || string(r.AskedInput) != asked ||
				r.Arguments != audit.Digest([]byte(given)) || r.AskedArguments != audit.Digest([]byte(asked)) {
				t.Errorf("%s: the %s line has %+v", name, r.Event, r)
			}
		}
		for text, want := range map[string]string{
			`{"text":"as it is"}`: `{"text":"as it is"} `,
			`{"text":"in vain"}`:  `{"text":5} {"text":"in vain"}`, // what the approver gave, although it was refused
		} {
			s.Call(t.Context(), tool.Call{Name: name, Arguments: []byte(text)})
			all := lines(t, path)
			r := all[len(all)-1]
			if got := string(r.Input) + " " + string(r.AskedInput); got != want || (r.AskedArguments != "") != (r.AskedInput != nil) {
				t.Errorf("%s, %s: the end line has %+v", name, text, r)
			}
		}
	}
	if b, _ := os.ReadFile(path); strings.Contains(string(b), "hunter") {
		t.Error("a secret is on record")
	}
	if got := len(slices.Collect(entries(t, path, "ASKED"))); got != 5 { // a begin line each but for safe, and an end line
		t.Errorf("a search for what was asked for finds %d lines", got)
	}
}

// entries are the calls of the lines that a search finds.
func entries(t *testing.T, path, text string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for e, err := range audit.Search(t.Context(), path, audit.Filter{Text: text}) {
			assert.NoError(t, err)
			if !yield(e.Call) {
				return
			}
		}
	}
}

// A secret under a name that was mistyped is not on record, nor what it can be
// guessed from.
func TestMistypedSecretIsNotOnRecord(t *testing.T) {
	t.Parallel()
	log, path := openLog(t)
	h := newHost(t, host.WithAudit(log))
	require.NoError(t, h.Register(echo("login", func(d *tool.Definition) {
		d.Sensitive = []string{"password"}
		d.InputSchema = tool.Schema(`{
			"type": "object", "additionalProperties": false, "$defs": {"site": {"properties": {"port": {"type": "integer"}}}},
			"properties": {
				"user": {"type": "string"}, "password": {"type": "string"}, "properties": {"enum": [{"pasword": 1}]},
				"site": {"type": "object", "properties": {"host": {"type": "string"}}, "anyOf": [{"$ref": "#/$defs/site"}]}
			}
		}`)
	})))
	none := audit.Digest([]byte(`"[redacted]"`))
	for args, want := range map[string]string{
		`{"user":"eva","pasword":"hunter2"}`:                             `{"user":"eva","pasword":"[redacted]"}`,
		`{"user":5,"PASSWORD":"hunter2"}`:                                `{"user":5,"PASSWORD":"[redacted]"}`,
		`{"site":{"host":"h","port":1,"key":{"a":"hunter2"}},"site2":1}`: `{"site":{"host":"h","port":1,"key":"[redacted]"},"site2":"[redacted]"}`,
		`{"type":"hunter2","$defs":"hunter2","enum":"hunter2"}`:          `{"type":"[redacted]","$defs":"[redacted]","enum":"[redacted]"}`,
		`{"p\u0061sword":"hunter2","us\u0065r":5}`:                       `{"p\u0061sword":"[redacted]","us\u0065r":5}`,
		`"hunter2"`:              `"[redacted]"`,
		` ["hunter2"]`:           `"[redacted]"`,
		`{"password":"hunter2"`:  "",
		`{"password":"hunter2"}`: `{"password":"[redacted]"}`, // which runs
		`{"user":"` + strings.Repeat("x", chain.MaxArguments) + `","pasword":"hunter2"}`: "",
	} {
		for _, name := range []string{"login", "logim"} {
			h.Call(t.Context(), tool.Call{Name: name, Arguments: []byte(args)})
			all := lines(t, path)
			r := all[len(all)-1]
			if name == "login" && string(r.Input) != want {
				t.Errorf("%.200s: the input is %s, want %s", args, r.Input, want)
			}
			for _, secret := range []string{args, "hunter2", `"hunter2"`, `{"password":"hunter2"}`} {
				if r.Arguments == audit.Digest([]byte(secret)) {
					t.Errorf("%s: the digest is that of %s", name, secret)
				}
			}
			if !strings.Contains(args[:min(len(args), 10)], "{") && r.Arguments != none || !json.Valid([]byte(args)) && r.Arguments != "" {
				t.Errorf("%s: the digest of %.200s is %q", name, args, r.Arguments)
			}
		}
	}
	if b, _ := os.ReadFile(path); strings.Contains(string(b), "hunter") {
		t.Errorf("a secret is on record:\n%s", b)
	}
}

type nilApprover struct{ calls int }

func (n *nilApprover) Approve(context.Context, policy.Request) (policy.Decision, error) {
	n.calls++
	return policy.Decision{Verdict: policy.Allow}, nil
}

// An approver that panics has said no, to each of the calls that ask it, and each
// has its end line.
func TestApproverPanics(t *testing.T) {
	t.Parallel()
	var written strings.Builder
	logged := hclog.New(&hclog.LoggerOptions{Output: &written, JSONFormat: true})
	for name, a := range map[string]policy.Approver{
		"the approver panicked: boom": policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
			panic("boom\n" + strings.Repeat("x", 1<<20))
		}),
		"the approver panicked: goexit? no: 5":  policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) { panic(fmt.Errorf("goexit? no: %d", 5)) }),
		"the approver is a nil function":        policy.ApproverFunc(nil),
		"the approver panicked: runtime error:": (*nilApprover)(nil),
	} {
		log, path := openLog(t)
		h := newHost(t, host.WithAudit(log), host.WithLogger(logged), host.WithOverrides(map[string]host.Override{"safe": {Approval: policy.Ask}}))
		runs := 0
		for tool, level := range levels {
			require.NoError(t, h.Register(counted(echo(tool, atLevel(level)), &runs)))
		}
		s := h.Session(host.WithApprover(a))
		calls := []tool.Call{{Name: "safe"}, {Name: "safe"}, {Name: "dangerous"}, {Name: "safe"}}
		for i, out := range s.CallAll(t.Context(), calls) {
			if out.Success || out.Error.Code != tool.CodeApprovalDenied || !strings.Contains(out.Content, "Approval failed for tool: "+calls[i].Name+": "+name) {
				t.Errorf("%s: call %d: %+v", name, i, out.Error)
			}
			if strings.Contains(out.Content, ".go:") || len(out.Content) > 1000 {
				t.Errorf("%s: a model is shown %s", name, out.Content)
			}
		}
		_, _, err := s.CallWith(t.Context(), tool.Call{Name: "dangerous"}, host.CallOptions{})
		if e := tool.AsError(err); e.Stage != callstage.Approve || strings.Contains(name, "panicked") != strings.Contains(e.Detail, "hostile_record_test.go") {
			t.Errorf("%s: stage %s, detail %s", name, e.Stage, e.Detail)
		}
		all := lines(t, path)
		if len(all) != len(calls)+1 || runs != 0 {
			t.Errorf("%s: %d lines, %d runs", name, len(all), runs)
		}
		for _, r := range all {
			if r.Event != audit.End || r.Code != tool.CodeApprovalDenied || r.Decision != audit.Denied || r.Approver != "approver" {
				t.Errorf("%s: the line is %+v", name, r)
			}
		}
	}
	if n := strings.Count(written.String(), "hostile_record_test.go"); n == 0 {
		t.Errorf("the log has no stack:\n%s", written.String())
	}
}

func atLevel(s tool.Safety) func(*tool.Definition) {
	return func(d *tool.Definition) { d.Safety = s }
}

type panickingSink struct{}

func (panickingSink) Write(audit.Record) error { panic("boom") }

// A sink that panics is one that cannot be written.
func TestSinkPanics(t *testing.T) {
	t.Parallel()
	for _, sink := range []audit.Sink{panickingSink{}, (*audit.File)(nil)} {
		runs := 0
		h := newHost(t, host.WithAudit(sink), host.WithAuditRequired(tool.Cautious))
		for _, x := range []tool.Tool{counted(echo("safe"), &runs), counted(echo("cautious", atLevel(tool.Cautious)), &runs)} {
			require.NoError(t, h.Register(x))
		}
		out := h.CallAll(t.Context(), []tool.Call{{Name: "safe"}, {Name: "cautious"}, {Name: "none"}})
		if !out[0].Success || out[1].Success || runs != 1 || !strings.Contains(out[1].Content, "cannot be put on record: the audit sink panicked: ") {
			t.Errorf("%d runs, %+v", runs, out)
		}
	}
}

// What cannot say whether a tool is visible hides it.
func TestVisiblePanics(t *testing.T) {
	t.Parallel()
	log, path := openLog(t)
	h := newHost(t, host.WithAudit(log))
	require.NoError(t, errors.Join(h.Register(echo("a")), h.Register(echo("b"))))
	s := h.Session(host.WithVisible(func(d tool.Definition) bool {
		if d.Name == "a" {
			panic("boom")
		}
		return true
	}))
	if all := require.Must(s.List(t.Context()))(t); len(all) != 1 || len(s.Tools(host.Filter{})) != 1 {
		t.Errorf("there are %+v", all)
	}
	out := s.CallAll(t.Context(), []tool.Call{{Name: "a"}, {Name: "b"}})
	if out[0].Error == nil || out[0].Error.Code != tool.CodeNotFound || !out[1].Success {
		t.Errorf("%+v", out)
	}
	if n := len(lines(t, path)); n != 2 {
		t.Errorf("%d lines of 2 calls", n)
	}
}

// panicking is a provider that panics in the method that it is told.
type panicking struct {
	*tool.Set
	where   atomic.Value // a string
	changes chan struct{}
}

func (p *panicking) at(where string) {
	if strings.Contains(p.where.Load().(string), where) {
		panic("boom in " + where)
	}
}

func (p *panicking) List(ctx context.Context) ([]tool.Definition, error) {
	p.at("List")
	return p.Set.List(ctx)
}

func (p *panicking) Execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	p.at("Execute")
	return p.Set.Execute(ctx, call)
}

func (p *panicking) Close(context.Context) error {
	p.at("Close")
	return nil
}

func (p *panicking) Changes() <-chan struct{} {
	p.at("Changes")
	return p.changes
}

// A provider that panics takes its tools with it and nothing else. One whose channel
// stays open, or is nil, does not keep the host from closing.
func TestProviderPanics(t *testing.T) {
	t.Parallel()
	set := require.Must(tool.NewSet(echo("x")))(t)
	for _, where := range []string{"", "List", "Execute", "Changes", "Close", "later List"} {
		h, err := host.New(host.WithRoot(t.TempDir()))
		require.NoError(t, err)
		p := &panicking{Set: set}
		p.where.Store(where)
		if where == "later List" {
			p.where.Store("")
			p.changes = make(chan struct{})
		}
		_, err = h.Attach(t.Context(), "p", p)
		if (err != nil) != (where == "List") || err != nil && !strings.Contains(err.Error(), "the provider of plugin p panicked: boom in List") {
			t.Errorf("%s: attached with %v", where, err)
		}
		if where == "later List" {
			p.where.Store(where)
			p.changes <- struct{}{}
			p.changes <- struct{}{} // the first was looked at
		}
		out := h.Call(t.Context(), tool.Call{Name: "x"})
		if out.Success != (where != "List" && where != "Execute") {
			t.Errorf("%s: %+v", where, out)
		}
		err = h.Close(t.Context())
		if (err != nil) != (where == "Close") || err != nil && !strings.Contains(err.Error(), "panicked: boom in Close") {
			t.Errorf("%s: Close: %v", where, err)
		}
	}
	h := newHost(t)
	if _, err := h.Attach(t.Context(), "none", nil); tool.CodeOf(err) != tool.CodeInvalidDefinition {
		t.Errorf("a nil provider is attached: %v", err)
	}
	if _, err := h.Attach(t.Context(), "none", (*panicking)(nil)); tool.CodeOf(err) != tool.CodeInvalidDefinition {
		t.Errorf("a nil pointer is attached: %v", err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Errorf("a nil pointer was closed: %v", err)
	}
}
