package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// looks approves after it has looked at the preview, if there is one.
type looks struct {
	t    *testing.T
	seen string
	err  error
	none bool
}

func (l *looks) Approve(ctx context.Context, r policy.Request) (policy.Decision, error) {
	if l.none = r.Preview == nil; !l.none {
		var res tool.Result
		res, l.err = r.Preview(ctx)
		l.seen = res.Text()
	}
	return policy.Decision{Verdict: policy.Allow}, nil
}

// The tools of a plugin's process are previewed on every carrier: before the call,
// with its arguments, by the name that the plugin knows.
func TestPreview(t *testing.T) {
	t.Parallel()
	for _, carrier := range []plugin.Carrier{plugin.Unary, plugin.Stream, plugin.Socket} {
		t.Run(string(carrier), func(t *testing.T) {
			t.Parallel()
			dir := plugintest.Dir(t, plugintest.Preview)
			h := newHost(t, host.WithDefaults(func(all *plugin.Settings) {
				all.Carrier = carrier
			}), host.WithOverrides(map[string]host.Override{"preview.write": {Name: "write"}}))
			require.Must(h.Load(t.Context(), dir))(t)
			l := &looks{t: t}
			s := h.Session(host.WithApprover(l))
			res, err := s.Execute(t.Context(), tool.Call{Name: "write", Arguments: []byte(`{"text":"one"}`)})
			if err != nil || l.err != nil || l.seen != "would write one, has written 0" || res.Text() != "has written 1" {
				t.Errorf("saw %q (%v), got %q, %v", l.seen, l.err, res.Text(), err)
			}
			for name, want := range map[string]tool.Code{"preview.none": tool.CodeNotFound, "preview.panic": tool.CodeToolFailed, "preview.huge": tool.CodeResourceExhausted} {
				if _, err := s.Execute(t.Context(), tool.Call{Name: name}); err != nil || l.none || tool.CodeOf(l.err) != want {
					t.Errorf("%s: %v; its preview: %v", name, err, l.err)
				}
			}
		})
	}
}

func TestPreviewsAreOptional(t *testing.T) {
	t.Parallel()
	dir := plugintest.Dir(t, plugintest.Preview)
	off, old := newHost(t, host.WithPreviews(false)), newHost(t)
	require.Must(off.Load(t.Context(), dir))(t)
	require.NoError(t, old.Register(echo("here", func(d *tool.Definition) { d.Safety = tool.Dangerous })))
	for name, h := range map[string]*host.Host{"preview.none": off, "here": old} {
		l := &looks{t: t}
		if _, err := h.Session(host.WithApprover(l)).Execute(t.Context(), tool.Call{Name: name}); err != nil || !l.none {
			t.Errorf("%s has a preview: %v", name, err)
		}
	}
}

// Only an approver asks for a preview, and it is not a way around
// what stands before the approver.
func TestPreviewComesAfterAuthorize(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	asked := 0
	x := echo("guarded", func(d *tool.Definition) { d.Safety, d.Permission = tool.Dangerous, "fs:write" })
	x.Preview = func(context.Context, tool.Call) (tool.Result, error) {
		asked++
		return tool.Failure("it would fail"), nil
	}
	require.NoError(t, h.Register(x))
	l := &looks{t: t}
	for _, s := range []*host.Session{
		h.Session(host.WithApprover(l)),        // no grant
		h.Session(host.WithGrants("fs:write")), // no approver
		h.Session(host.WithGrants("fs:write"), host.WithApprover(policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
			return policy.Decision{}, errors.New("does not look")
		}))),
	} {
		if _, err := s.Execute(t.Context(), tool.Call{Name: "guarded"}); err == nil || asked != 0 {
			t.Errorf("%v; asked %d times", err, asked)
		}
	}
	if _, err := h.Session(host.WithGrants("fs:write"), host.WithApprover(l)).Execute(t.Context(), tool.Call{Name: "guarded"}); err != nil || asked != 1 || !strings.Contains(l.seen, "would fail") {
		t.Errorf("%v; asked %d times, saw %q", err, asked, l.seen)
	}
}

// An approver can end a call with the failure of its preview, but not make one up.
func TestPreviewFails(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	runs := 0
	for _, name := range []string{"fails", "succeeds", "none"} {
		x := echo(name, func(d *tool.Definition) { d.Safety = tool.Dangerous })
		run := x.Handler
		x.Handler = func(ctx context.Context, call tool.Call) (tool.Result, error) { runs++; return run(ctx, call) }
		if name != "none" {
			x.Preview = func(context.Context, tool.Call) (tool.Result, error) {
				return tool.Result{Content: tool.Text("stale").Content, IsError: name == "fails"}, nil
			}
		}
		require.NoError(t, h.Register(x))
	}
	s := h.Session(host.WithApprover(policy.ApproverFunc(func(ctx context.Context, r policy.Request) (policy.Decision, error) {
		if r.Preview != nil {
			_, _ = r.Preview(ctx)
		}
		return policy.Decision{Verdict: policy.Fail}, nil
	})))
	if res, err := s.Execute(t.Context(), tool.Call{Name: "fails"}); err != nil || !res.IsError || res.Text() != "stale" {
		t.Errorf("%v, %v", res, err)
	}
	for _, name := range []string{"succeeds", "none"} {
		if _, err := s.Execute(t.Context(), tool.Call{Name: name}); tool.CodeOf(err) != tool.CodeApprovalDenied {
			t.Errorf("%s: %v", name, err)
		}
	}
	if runs > 0 {
		t.Errorf("%d calls ran", runs)
	}
}
