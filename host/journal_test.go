package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// happened waits until the files of a plugin have these events, of kind and a part of the text, in this order, and
// returns the last.
func happened(t *testing.T, state, of string, kindsAndTexts ...string) (last journal.Entry) {
	t.Helper()
	require.Eventually(t, strings.Join(kindsAndTexts, ", "), func() bool {
		r := journal.NewReader(filepath.Join(state, journal.Folder))
		defer r.Close()
		r.Plugin, r.Events = of, true
		wanted := kindsAndTexts
		for e, err := range r.New() {
			require.NoError(t, err)
			if len(wanted) > 0 && e.Event == wanted[0] && strings.Contains(e.Text, wanted[1]) {
				last, wanted = e, wanted[2:]
			}
		}
		return len(wanted) == 0
	})
	return last
}

// What happens to a plugin is kept in files, also when the host is gone: who ran it, why, the outcome, what was
// accepted, and who answered what, without its content.
func TestEventsAreKept(t *testing.T) {
	t.Parallel()
	dir, state := plugintest.Dir(t, plugintest.Growing), t.TempDir()
	plugintest.Deploy(t, dir, "versioned", "1-harms"+needsA)
	h := newHost(t, host.WithState(state), host.WithRollback(false))
	require.Must(h.Load(t.Context(), dir))(t)
	for _, verdict := range []policy.Verdict{policy.Allow, policy.Deny} {
		s := h.Session(host.WithApprover(policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
			return policy.Decision{Verdict: verdict, By: "ann\x1b[2J", Reason: "secret"}, nil
		})))
		if _, err := s.Execute(t.Context(), tool.Call{ID: "c1", Name: "versioned.count"}); (err == nil) != (verdict == policy.Allow) {
			t.Errorf("%v: %v", verdict, err)
		}
	}
	plugintest.Deploy(t, dir, "versioned", "2-broken")
	_ = h.Sync(t.Context(), dir) // fails
	plugintest.Deploy(t, dir, "versioned", "3"+needsAB)
	require.NoError(t, h.Sync(t.Context(), dir))
	require.NoError(t, h.AcceptNeeds(t.Context(), "versioned", pluginOf(h, "versioned").Needs))
	require.NoError(t, h.RestartPlugin(t.Context(), "versioned"))
	require.NoError(t, os.Remove(filepath.Join(dir, "versioned")))
	require.NoError(t, h.Sync(t.Context(), dir))
	e := happened(t, state, "versioned",
		journal.Started, "it is the first time", journal.Answered, "a call of versioned.count was approved by ann",
		journal.Answered, "was denied by ann", "start_failed", "this version is broken", journal.UpgradeFailed, "runs on as it was",
		"wants_more", "b.example", "upgraded", "from=1-harms to=3", journal.Accepted, "its needs", "removed", "withdrawn")
	if e.Plugin != "versioned" || e.Time.IsZero() {
		t.Errorf("%+v", e)
	}
	happened(t, state, "versioned", journal.Ended, "removed or replaced")
	if e := happened(t, state, "versioned", journal.Answered, "approved"); e.Facts["by"] != `ann\x1b[2J` || e.Facts["tool"] != "versioned.count" || e.Call == "" {
		t.Errorf("an answer: %+v", e)
	}
	if text := string(require.Must(os.ReadFile(filepath.Join(state, journal.Folder, "versioned.events")))(t)); strings.Contains(text, "secret") {
		t.Errorf("events have content: %s", text)
	}
	if out := h.Call(t.Context(), tool.Call{Name: "grow.put", Arguments: []byte(`{"name":"grow.new"}`)}); !out.Success {
		t.Fatalf("%+v", out)
	}
	happened(t, state, string(plugintest.Growing), journal.ToolsChanged, "added=grow.new")
}

// A refusal by a lock, an end for idleness, and why the next start is.
func TestEndsAndRefusalsAreKept(t *testing.T) {
	t.Parallel()
	dir, state, lock := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "toolhost.lock")
	plugintest.Deploy(t, dir, "versioned", "1")
	pinAll(t, dir, lock)
	plugintest.Install(t, dir, "stranger")
	h := newHost(t, host.WithState(state), host.WithLocks(host.Lock{File: lock}), host.WithDefaults(func(all *plugin.Settings) {
		all.IdleTimeout = 50 * time.Millisecond
	}))
	_, _ = h.Load(t.Context(), dir) // the stranger does not run
	happened(t, state, "stranger", journal.Refused, "not pinned")
	e := happened(t, state, "versioned", journal.Started, "", journal.Ended, "it was idle for 50ms")
	if e.PID == 0 || e.Facts["ran"] == "" || e.Facts["how"] == "" {
		t.Errorf("%+v", e)
	}
	version(t, h)
	happened(t, state, "versioned", journal.Ended, "", journal.Started, "the last one ended, as it was idle")
}
