package host_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A level below a plugin's own claim is that of the definition for which it was given, in later hosts
// too: a changed tool is dangerous until AcceptLevels. One that claims no more than the level stays.
func TestLevelsStandForDefinitions(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]host.Override{"a level": {Safety: tool.Safe}, "approval": {Approval: policy.AllowAll}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testLevelStands(t, map[string]host.Override{"versioned.count": given})
		})
	}
}

func testLevelStands(t *testing.T, safe map[string]host.Override) {
	t.Helper()
	dir := t.TempDir()
	opts := []host.Option{host.WithState(filepath.Join(t.TempDir(), "toolhost")), host.WithRoot(t.TempDir())}
	call := func(h *host.Host, want tool.Code, changed int) {
		t.Helper()
		_, err := h.Execute(t.Context(), tool.Call{Name: "versioned.count"})
		if err != nil && tool.CodeOf(err) != want || err == nil && want != "" {
			t.Errorf("the call returns %v, want %q", err, want)
		}
		if s := pluginOf(h, "versioned"); len(s.Changed) != changed || changed == 1 && !strings.Contains(s.Changed[0].Text, "description was") {
			t.Errorf("changed are %+v", s.Changed)
		}
	}
	plugintest.Deploy(t, dir, "versioned", "1harms")
	h := newHost(t, opts...)
	require.Must(h.Load(t.Context(), dir))(t)
	call(h, tool.CodeApprovalRequired, 0)
	require.NoError(t, h.Reconfigure(host.WithOverrides(safe))) // the level is given while the tool is there
	call(h, "", 0)
	deploy(t, h, dir, "2harms,worded")
	call(h, tool.CodeApprovalRequired, 1)
	require.NoError(t, h.Reconfigure(host.WithOverrides(safe)))
	call(h, tool.CodeApprovalRequired, 1)

	later := newHost(t, append(opts, host.WithOverrides(safe))...)
	require.Must(later.Load(t.Context(), dir))(t)
	call(later, tool.CodeApprovalRequired, 1)
	require.NoError(t, later.AcceptLevels("versioned"))
	call(later, "", 0)
	require.NoError(t, h.Reconfigure(host.WithOverrides(safe))) // reads what the other has noted
	call(h, "", 0)
	deploy(t, later, dir, "3worded") // claims that it is safe
	call(later, "", 0)
	if err := later.AcceptLevels("none"); tool.CodeOf(err) != tool.CodeNotFound {
		t.Errorf("of no plugin: %v", err)
	}
}
