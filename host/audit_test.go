package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// lines are the records of an audit log.
func lines(t *testing.T, path string) []audit.Record {
	t.Helper()
	b := require.Must(os.ReadFile(path))(t)
	var out []audit.Record
	for line := range strings.Lines(string(b)) {
		var r audit.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		out = append(out, r)
	}
	return out
}

func TestEveryCallIsOnRecord(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log := require.Must(audit.Open(path, audit.Options{}))(t)
	h := newHost(t, host.WithAudit(log))
	onDisk := 0
	for name, safety := range map[string]tool.Safety{"safe": tool.Safe, "picky": tool.Safe, "cautious": tool.Cautious, "dangerous": tool.Dangerous} {
		x := echo(name, func(d *tool.Definition) {
			d.Safety, d.Sensitive = safety, []string{"text"}
			if name == "cautious" {
				d.Permission = "exec"
			}
			if name == "picky" { // its refusal quotes the value
				d.InputSchema = tool.Schema(`{"type":"object","properties":{"text":{"type":"string","pattern":"^x"}}}`)
			}
		})
		x.Handler = func(context.Context, tool.Call) (tool.Result, error) {
			onDisk = len(lines(t, path)) // what is there before the side effect
			return tool.Text("done"), nil
		}
		require.Must(h.Upsert("plug", x))(t)
	}
	stranger := h.Session(host.WithSessionID("stranger"))
	caller := h.Session(host.WithSessionID("caller"), host.WithGrants("exec"),
		host.WithApprover(policy.ApproverFunc(func(_ context.Context, r policy.Request) (policy.Decision, error) {
			if strings.Contains(string(r.Call.Arguments), "no") {
				return policy.Decision{Reason: "no means no", By: "eva"}, nil
			}
			return policy.Decision{Verdict: policy.Modify, Arguments: []byte(`{"text":"changed"}`), By: "eva"}, nil
		})))

	count := 0
	for _, c := range []struct {
		session                              *host.Session
		tool, args                           string
		code                                 tool.Code
		begin                                bool
		decision, approver, plugin, onRecord string
	}{
		{stranger, "safe", `{"text":"secret"}`, "", false, "allowed", "", "plug", `{"text":"[redacted]"}`},
		{stranger, "cautious", `{"text":"secret"}`, tool.CodePermissionDenied, false, "denied", "", "plug", `{"text":"[redacted]"}`},
		{caller, "cautious", `{}`, "", true, "allowed", "", "plug", `{}`},
		{stranger, "dangerous", `{}`, tool.CodeApprovalRequired, false, "denied", "", "plug", `{}`},
		{caller, "dangerous", `{"text":"no"}`, tool.CodeApprovalDenied, false, "denied", "eva", "plug", `{"text":"[redacted]"}`},
		{caller, "dangerous", `{}`, "", true, "approved", "eva", "plug", `{"text":"[redacted]"}`},
		{stranger, "unknown", `{"password":"secret"}`, tool.CodeNotFound, false, "", "", "", `{"password":"[redacted]"}`},
		{stranger, "safe", `{"text":"a","extra":5}`, tool.CodeInvalidArguments, false, "", "", "plug", `{"text":"[redacted]","extra":"[redacted]"}`},
		{stranger, "picky", `{"text":"secret"}`, tool.CodeInvalidArguments, false, "", "", "plug", `{"text":"[redacted]"}`},
	} {
		out := c.session.Call(t.Context(), tool.Call{Name: c.tool, Arguments: []byte(c.args)})
		all := lines(t, path)
		news := all[count:]
		count = len(all)
		want := 1
		if c.begin {
			want = 2
		}
		if len(news) != want {
			t.Fatalf("%s: %d lines, want %d: %+v", c.tool, len(news), want, news)
		}
		end := news[want-1]
		if end.Event != "end" || end.Call != out.ID || end.Session != c.session.ID() || end.Tool != c.tool || end.Plugin != c.plugin ||
			end.Code != c.code || end.Decision != c.decision || end.Approver != c.approver || string(end.Input) != c.onRecord || end.Time.IsZero() {
			t.Errorf("%s %s: end line %+v", c.tool, c.args, end)
		}
		if !strings.HasPrefix(end.Arguments, "sha256:") || (c.tool != "unknown") != strings.HasPrefix(end.Definition, "sha256:") {
			t.Errorf("%s: digests %q and %q", c.tool, end.Arguments, end.Definition)
		}
		if c.begin && (news[0].Event != "begin" || news[0].Call != out.ID || news[0].Decision != c.decision || onDisk != count-1) {
			t.Errorf("%s: begin line %+v; %d lines were on disk before the side effect, want %d", c.tool, news[0], onDisk, count-1)
		}
	}
	if b, _ := os.ReadFile(path); strings.Contains(string(b), "secret") {
		t.Error("a secret is on record")
	}
	require.NoError(t, log.Close())
	if _, err := audit.Verify(t.Context(), path); err != nil {
		t.Errorf("Verify: %v", err)
	}
}

// full is a sink on a full disk.
type full struct{}

func (full) Write(audit.Record) error { return errors.New("no space left on device") }

func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		required tool.Safety
		runs     map[string]int
	}{
		{"by default", tool.Unset, map[string]int{"safe": 1, "cautious": 1, "dangerous": 1}},
		{"required for dangerous", tool.Dangerous, map[string]int{"safe": 1, "cautious": 1, "dangerous": 0}},
		{"required for cautious", tool.Cautious, map[string]int{"safe": 1, "cautious": 0, "dangerous": 0}},
		{"required for safe", tool.Safe, map[string]int{"safe": 0, "cautious": 0, "dangerous": 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, host.WithAudit(full{}), host.WithAuditRequired(c.required))
			s := h.Session(host.WithApprover(policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
				return policy.Decision{Verdict: policy.Allow}, nil
			})))
			for name, safety := range map[string]tool.Safety{"safe": tool.Safe, "cautious": tool.Cautious, "dangerous": tool.Dangerous} {
				runs := 0
				require.NoError(t, h.Register(counted(echo(name, func(d *tool.Definition) { d.Safety = safety }), &runs)))
				out := s.Call(t.Context(), tool.Call{Name: name})
				if runs != c.runs[name] || out.Success != (runs == 1) {
					t.Errorf("%s: %d runs, outcome %+v", name, runs, out)
				}
				if runs == 0 && !strings.Contains(out.Content, "no space left") {
					t.Errorf("%s: the reason is not in %q", name, out.Content)
				}
			}
		})
	}
}

// One end line a call, also under load.
func TestOneEndLineACall(t *testing.T) {
	t.Parallel()
	sink := &counting{}
	h := newHost(t, host.WithAudit(sink))
	require.NoError(t, h.Register(echo("x", func(d *tool.Definition) { d.Safety = tool.Cautious })))
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 50 {
				h.Call(t.Context(), tool.Call{Name: "x"})
				h.Call(t.Context(), tool.Call{Name: "y"})
			}
		})
	}
	all.Wait()
	if sink.events["begin"] != 800 || sink.events["end"] != 1600 {
		t.Errorf("records %v", sink.events)
	}
}

type counting struct {
	mu     sync.Mutex
	events map[string]int
}

func (c *counting) Write(r audit.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.events == nil {
		c.events = map[string]int{}
	}
	c.events[r.Event]++
	return nil
}
