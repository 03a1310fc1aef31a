package host_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func names(tools []host.Tool) []string {
	var out []string
	for _, t := range tools {
		out = append(out, t.Name)
	}
	return out
}

func TestOverride(t *testing.T) {
	t.Parallel()
	no, most, writes := false, 3, tool.FSWrite
	h := newHost(t, host.WithOverrides(map[string]host.Override{
		"claims.safe": {Safety: tool.Dangerous, Idempotent: &no, MaxRetries: &most, Permission: &writes},
		"old.name":    {Name: "new.name"},
		"hidden":      {Disabled: true},
		"not.there":   {Disabled: true},
	}))
	runs := 0
	for _, x := range []tool.Tool{
		echo("claims.safe", func(d *tool.Definition) { d.Safety, d.Idempotent = tool.Safe, true }),
		{Definition: echo("old.name").Definition, Handler: func(_ context.Context, c tool.Call) (tool.Result, error) {
			return tool.Text("I am " + c.Name), nil
		}},
		counted(echo("hidden"), &runs),
	} {
		require.NoError(t, h.Register(x))
	}

	x, _ := h.Get("claims.safe")
	if x.Safety != tool.Dangerous || x.Idempotent || x.MaxRetries != 3 || x.Permission != "fs:write" || x.Claimed.Safety != tool.Safe || !x.Claimed.Idempotent {
		t.Errorf("claims.safe is %+v", x)
	}
	if got := names(h.Tools(host.Filter{MaxSafety: tool.Cautious})); slices.Contains(got, "claims.safe") {
		t.Errorf("it passes for safe: %q", got)
	}
	assert.EqualSlicesf(t, names(h.Tools(host.Filter{})), []string{"claims.safe", "new.name"}, "the tools")
	_, err := h.Session(host.WithGrants("fs:write")).Execute(t.Context(), tool.Call{Name: "claims.safe"})
	assert.Equalf(t, tool.CodeOf(err), tool.CodeApprovalRequired, "claims.safe: %v", err)
	if res, err := h.Execute(t.Context(), tool.Call{Name: "new.name"}); err != nil || res.Text() != "I am old.name" {
		t.Errorf("new.name: %q, %v", res.Text(), err)
	}
	for _, name := range []string{"old.name", "hidden"} {
		if _, err := h.Execute(t.Context(), tool.Call{Name: name}); !errors.Is(err, tool.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := h.Execute(t.Context(), tool.Call{Name: "hidden"}); !strings.Contains(err.Error(), "disabled") || runs != 0 {
		t.Errorf("hidden: %v, %d runs", err, runs)
	}
	assert.ErrorIsf(t, h.Register(echo("hidden")), tool.ErrAlreadyExists, "the name of a disabled tool")
}

func TestReconfigureOverrides(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, h.Register(echo(name)))
	}
	want := func(what string, want ...string) {
		t.Helper()
		assert.EqualSlicesf(t, names(h.Tools(host.Filter{})), want, "%s: the tools", what)
	}
	set := func(all map[string]host.Override) error { return h.Reconfigure(host.WithOverrides(all)) }

	assert.NoError(t, set(map[string]host.Override{"a": {Name: "b"}, "b": {Name: "a"}, "c": {Disabled: true}}))
	want("exchanged", "a", "b")
	if x, _ := h.Get("a"); x.Claimed.Name != "b" {
		t.Errorf("a is %+v", x)
	}
	for what, bad := range map[string]map[string]host.Override{
		"a taken name":   {"a": {Name: "c"}},
		"no name at all": {"a": {Name: "no name"}, "b": {Disabled: true}},
		"negative":       {"a": {Timeout: -1}},
	} {
		assert.ErrorContainsf(t, set(bad), "a", "%s", what)
		want(what, "a", "b")
	}
	assert.NoError(t, set(nil))
	want("none", "a", "b", "c")
	if x, _ := h.Get("a"); x.Claimed.Name != "a" {
		t.Errorf("a is %+v", x)
	}
	// What comes later goes by them too.
	assert.NoError(t, set(map[string]host.Override{"d": {Safety: tool.Safe}}))
	assert.NoError(t, h.Register(echo("d", func(d *tool.Definition) { d.Safety = tool.Dangerous })))
	if _, err := h.Execute(t.Context(), tool.Call{Name: "d"}); err != nil {
		t.Error(err)
	}
}

// records is a log in memory.
type records struct {
	mu  sync.Mutex
	all []audit.Record
}

func (r *records) Write(one audit.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, one)
	return nil
}

// decisions are what became of the calls: tool, decision, and who took it.
func (r *records) decisions() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, one := range r.all {
		if one.Event == audit.End {
			out = append(out, one.Tool+" "+one.Decision+" "+one.Approver)
		}
	}
	return out
}

func TestApprovalRules(t *testing.T) {
	t.Parallel()
	log := &records{}
	h := newHost(t, host.WithAudit(log), host.WithOverrides(map[string]host.Override{
		"asked": {Approval: policy.Ask}, "allowed": {Approval: policy.AllowAll}, "denied": {Approval: policy.DenyAll},
	}))
	for name, level := range map[string]tool.Safety{"asked": tool.Safe, "allowed": tool.Dangerous, "denied": tool.Safe, "safe": tool.Safe} {
		require.NoError(t, h.Register(echo(name, func(d *tool.Definition) { d.Safety = level })))
	}
	var asked []string
	s := h.Session(host.WithApprover(policy.ApproverFunc(func(_ context.Context, r policy.Request) (policy.Decision, error) {
		asked = append(asked, r.Call.Name)
		return policy.Decision{Verdict: policy.Allow, By: "ada"}, nil
	})))
	for name, code := range map[string]tool.Code{"asked": "", "allowed": "", "safe": "", "denied": tool.CodeApprovalDenied} {
		_, err := s.Execute(t.Context(), tool.Call{Name: name})
		if err == nil && code != "" || err != nil && tool.CodeOf(err) != code {
			t.Errorf("%s: %v", name, err)
		}
		if code != "" && !strings.Contains(tool.ModelText(err, name), "do not call it again") {
			t.Errorf("a model would try again: %v", err)
		}
	}
	assert.EqualSlicesf(t, asked, []string{"asked"}, "the approver was asked about")
	for _, want := range []string{"asked approved ada", "allowed approved operator", "denied denied operator", "safe allowed "} {
		if !slices.Contains(log.decisions(), want) {
			t.Errorf("the record has %q, not %q", log.decisions(), want)
		}
	}
}

// What a plugin claims can be taken away, too: the permission that it asks for, and the
// rate that it bounds its callers to.
func TestOverrideTakesAway(t *testing.T) {
	t.Parallel()
	none := tool.Capability("")
	h := newHost(t, host.WithOverrides(map[string]host.Override{"strict": {Permission: &none, RateLimit: &tool.RateLimit{}}}))
	strict := echo("strict", func(d *tool.Definition) {
		d.Permission, d.RateLimit = "exec", &tool.RateLimit{Calls: 1, Period: tool.Duration(time.Hour)}
	})
	require.NoError(t, h.Register(strict))
	for range 3 {
		if _, err := h.Execute(t.Context(), tool.Call{Name: "strict"}); err != nil {
			t.Error(err)
		}
	}
}
