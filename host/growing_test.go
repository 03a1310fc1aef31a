package host_test

import (
	"slices"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A plugin adds and removes tools while it runs, and the host follows.
func TestPluginChangesItsTools(t *testing.T) {
	t.Parallel()
	dir := plugintest.Dir(t, plugintest.Growing)
	h := newHost(t)
	require.Must(h.Load(t.Context(), dir))(t)
	changes := h.Changes()
	for _, step := range []struct {
		call string
		want []string
	}{
		{"grow.put", []string{"grow.new", "grow.put", "grow.remove"}},
		{"grow.remove", []string{"grow.put", "grow.remove"}},
	} {
		if out := h.Call(t.Context(), tool.Call{Name: step.call, Arguments: []byte(`{"name":"grow.new"}`)}); !out.Success {
			t.Fatalf("%+v", out)
		}
		for !slices.Equal(h.Names(), step.want) {
			select {
			case <-changes:
			case <-time.After(ceiling):
				t.Fatalf("tools %q, want %q", h.Names(), step.want)
			}
		}
		if step.call == "grow.put" {
			if res := require.Must(h.Execute(t.Context(), tool.Call{Name: "grow.new"}))(t); res.Text() != "new" {
				t.Errorf("answered %q", res.Text())
			}
		}
	}
}
